"""Reads the event streams: history, dead letters, redelivery, explanations."""
