"""Provisioning founds a cluster on the best offer that really has room, and lets it go when told."""
