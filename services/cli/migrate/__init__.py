"""Clusters that somebody else was asked for move in."""
