"""Simulated Cluster API controllers."""
