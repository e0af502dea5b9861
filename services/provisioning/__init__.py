"""Provisioning launches each cluster on the best offer that has room, and releases it when it is ordered to."""
