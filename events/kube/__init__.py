"""The Kubernetes API client: requests, watches, kubeconfigs, and its errors."""
