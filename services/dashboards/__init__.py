"""What people look at in Grafana is data here, written as its dashboards by `python -m services.dashboards`."""
