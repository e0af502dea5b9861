"""Stored objects of the sandbox API: journal, revisions and watches."""
