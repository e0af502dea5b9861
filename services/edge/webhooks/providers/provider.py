"""A webhook provider: how its requests are verified, and the event that each becomes."""

from collections.abc import Callable
from dataclasses import dataclass

from events.cloudevents import CloudEvent
from services.edge.webhooks.request import WebhookRequest

JSON = frozenset({"application/json"})


@dataclass(frozen=True)
class Provider:
    """One row of the table; both functions are pure and raise Problem."""

    name: str
    """In the path and in the subject: lower-case letters."""
    verify: Callable[[WebhookRequest], None]
    """On the bytes as they came, in constant time; 401 if nobody we know said this."""
    event: Callable[[WebhookRequest], CloudEvent]
    """Its source and id are the delivery's: the same from every retry; 422 if it cannot be read."""
    media: frozenset[str] = JSON
    """Content types it sends; empty: any."""
    handshake: bool = False
    """Whether its senders ask by OPTIONS whether they may (CloudEvents' HTTP webhook specification, 4)."""
