"""Chooses where a cluster goes: filters, ranks and reserves offers."""
