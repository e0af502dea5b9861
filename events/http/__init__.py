"""Outgoing HTTP: which addresses may be reached, fetching a text, and signing a webhook."""
