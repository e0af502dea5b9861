"""Grafana dashboards as data, and the command that writes them as JSON."""
