"""Follows ClusterClassifiers, and gives clusters their labels."""
