"""A Kubernetes API for many logical clusters in one process."""
