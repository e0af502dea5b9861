"""The Secret with one kubeconfig for all clusters of a Colony."""
