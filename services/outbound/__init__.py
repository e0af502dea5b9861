"""Outbound notifies others: webhooks, CDEvents, commit statuses, and texts to chats and by e-mail."""
