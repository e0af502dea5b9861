"""The gateway stands between Kubernetes and the bus: what people wrote goes in, what is true comes out."""
