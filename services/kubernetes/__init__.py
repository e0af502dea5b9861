"""Readings of Kubernetes objects that several services share: quantities, pods, versions, kubeconfigs."""
