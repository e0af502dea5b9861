"""Transport: the bus, the Kubernetes API and telemetry, each behind a port."""
