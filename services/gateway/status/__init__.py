"""Computes a Colony's status from what is known of its clusters."""
