"""Writes the files that are generated from declarations."""
