"""Renders items as tables, JSON or YAML."""
