"""A Kubernetes-shaped API for many logical clusters in one process, so that nothing else must be installed."""
