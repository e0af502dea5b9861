"""Kubernetes Events about a Colony's clusters."""
