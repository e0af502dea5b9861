"""The event of a request at intake, with the delivery that caused it."""

from datetime import datetime

import msgspec

from events.cloudevents import CloudEvent
from schemas.registry import declared
from services.edge.triggers.delivery import WebhookDelivery
from services.edge.triggers.rules import IntakeRequest

SEQUENCE = "hooksequence"
"""The extension with the sequence of the delivery that caused a request: it shows which request is later."""


def caused_event(intake: IntakeRequest, delivery: WebhookDelivery, name: str, source: str, now: datetime) -> CloudEvent:
    """The event of a request; `name` is an id that is unique at its source."""
    return CloudEvent(
        id=name,
        source=source,
        type=declared(type(intake)).type,
        subject=f"{intake.tenant}/{intake.name}",
        time=now,
        datacontenttype="application/json",
        extensions={
            "correlationid": delivery.event.extensions.get("correlationid", delivery.event.id),
            "causationid": delivery.event.id,
            SEQUENCE: str(delivery.sequence),
        },
        data=msgspec.json.encode(intake),
    )
