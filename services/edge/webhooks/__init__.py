"""Receives webhooks: verifies, bounds, deduplicates and stores each delivery."""
