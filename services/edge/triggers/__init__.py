"""Evaluates Triggers on stored deliveries and publishes the requests that they make."""
