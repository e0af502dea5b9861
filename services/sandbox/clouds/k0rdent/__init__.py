"""Simulated k0rdent controllers."""
