"""Helm releases: each operation in a process of its own, with what it may use and how long bounded."""
