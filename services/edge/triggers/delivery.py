"""What Triggers hear, in the variables of rules: a stored webhook delivery, or a message of another service."""

from collections.abc import Mapping

import msgspec

from events.bus import Stored
from events.cloudevents import CloudEvent, Malformed, decode
from schemas.registry import UNREADABLE
from schemas.subjects import Key, names_of
from services.edge.triggers.bus_subject import BusSubject, read_subject
from services.edge.webhooks.secrets import WebhookEndpoint

WEBHOOKS = "HOOKS"
"""The stream of deliveries."""


class WebhookDelivery(msgspec.Struct, frozen=True, tag=True):
    """One delivery of a webhook."""

    event: CloudEvent
    endpoint: WebhookEndpoint
    sequence: int
    """Its sequence in the stream of deliveries."""

    @property
    def channel(self) -> WebhookEndpoint:
        """Where it came from: Triggers name it."""
        return self.endpoint

    @property
    def stream(self) -> str:
        """Its stream."""
        return WEBHOOKS

    @property
    def key(self) -> Key:
        """What it is about, for traces."""
        return Key("hook", self.endpoint.tenant, self.endpoint.name)

    def variables(self) -> Mapping[str, object]:
        """The variables of CEL expressions."""
        return {**_variables(self.event), "hook": self.endpoint._asdict()}


class BusEvent(msgspec.Struct, frozen=True, tag=True):
    """One message of another service."""

    event: CloudEvent
    channel: BusSubject
    """Its subject: Triggers name it."""
    sequence: int
    """Its sequence in its stream."""
    before: str = ""
    """The entity's state before, such as ``cluster.provisioned``; empty if it had none, and with levels."""

    @property
    def stream(self) -> str:
        """Its stream."""
        return self.channel.stream

    @property
    def key(self) -> Key:
        """What it is about, for traces."""
        return Key(self.channel.kind.partition(".")[0], self.channel.tenant, self.channel.names[0])

    def variables(self) -> Mapping[str, object]:
        """The variables of CEL expressions."""
        return {**_variables(self.event), "message": {**self.channel.variables(), "before": self.before}}


Channel = WebhookEndpoint | BusSubject
Heard = WebhookDelivery | BusEvent


def channel_of(subject: str) -> Channel:
    """Where a stored message comes from. Raises Malformed."""
    if not subject.startswith("hook."):
        return read_subject(subject)
    try:
        _, provider, tenant, name, _ = names_of(subject)
    except ValueError as error:
        raise Malformed(f"{subject} is no subject of a webhook") from error
    return WebhookEndpoint(provider, tenant, name)


def read_heard(stored: Stored, before: str = "") -> Heard:
    """The delivery or message in a message of the bus. Raises Malformed."""
    channel, event = channel_of(stored.subject), decode(stored.headers, stored.data)
    if isinstance(channel, WebhookEndpoint):
        return WebhookDelivery(event, channel, stored.sequence)
    return BusEvent(event, channel, stored.sequence, before)


def _variables(event: CloudEvent) -> dict[str, object]:
    attributes = {"id": event.id, "source": event.source, "type": event.type, "subject": event.subject or ""}
    time = event.time.isoformat() if event.time else ""
    return {"event": {**event.extensions, **attributes, "time": time}, "data": payload(event.data)}


def payload(data: bytes) -> object:
    """The data of the event if it is JSON; None otherwise."""
    try:
        return msgspec.json.decode(data)
    except UNREADABLE:  # any bytes may be carried; rules see none
        return None
