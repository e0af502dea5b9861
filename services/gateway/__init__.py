"""The gateway between Kubernetes and the bus: publishes wishes, writes status."""
