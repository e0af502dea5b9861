"""A laptop's stand-in for the world: a Kubernetes API and simulated clouds for the real services to talk to."""
