"""Arithmetic and edits on Colonies that several services share."""
