"""Outbound tells others over HTTP what became of clusters: webhooks, CDEvents, the status of a commit."""
