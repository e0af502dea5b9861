"""A stored delivery as rules see it: the event, its data, and its endpoint."""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from events.bus import Stored
from events.cloudevents import CloudEvent, Malformed, decode
from schemas.subjects import names_of
from schemas.wire import UNREADABLE
from services.edge.webhooks.secrets import WebhookEndpoint


@dataclass(frozen=True)
class WebhookDelivery:
    """One delivery."""

    event: CloudEvent
    endpoint: WebhookEndpoint
    sequence: int
    """Its place among all deliveries."""

    def variables(self) -> Mapping[str, object]:
        """What expressions name."""
        event = self.event
        attributes = {"id": event.id, "source": event.source, "type": event.type, "subject": event.subject or ""}
        time = event.time.isoformat() if event.time else ""
        return {
            "event": {**event.extensions, **attributes, "time": time},
            "data": payload(event.data),
            "hook": self.endpoint._asdict(),
        }


def read_delivery(stored: Stored) -> WebhookDelivery:
    """Read it from the bus. Raises Malformed."""
    try:
        _, provider, tenant, name, _ = names_of(stored.subject)
    except ValueError as error:
        raise Malformed(f"{stored.subject} is no subject of a webhook") from error
    return WebhookDelivery(
        decode(stored.headers, stored.data), WebhookEndpoint(provider, tenant, name), stored.sequence
    )


def payload(data: bytes) -> object:
    """What the event carries, if it is JSON; None if it is something else."""
    try:
        return msgspec.json.decode(data)
    except UNREADABLE:  # any bytes may be carried; rules see none
        return None
