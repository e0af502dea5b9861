"""Outbound notifies others over HTTP: webhooks, CDEvents, commit statuses."""
