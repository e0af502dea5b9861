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
    """The name in the path and in the subject: lower-case letters."""
    verify: Callable[[WebhookRequest], None]
    """Verifies the body as received, in constant time; Problem 401 for an unknown sender."""
    event: Callable[[WebhookRequest], CloudEvent]
    """The event, whose source and id are the same for every retry; Problem 422 if it cannot be read."""
    media: frozenset[str] = JSON
    """The content types that it sends; empty: any."""
    handshake: bool = False
    """Whether its senders ask for permission by OPTIONS (CloudEvents' HTTP webhook specification, 4)."""
