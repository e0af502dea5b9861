"""Watches one cluster's objects and publishes what changed."""
