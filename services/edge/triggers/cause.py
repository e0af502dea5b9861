"""Marks a request with the delivery that caused it."""

from datetime import datetime

import msgspec

from events.cloudevents import CloudEvent
from schemas.registry import declared
from services.edge.triggers.delivery import WebhookDelivery
from services.edge.triggers.rules import IntakeRequest

SEQUENCE = "hooksequence"
"""The extension that says which delivery a wish came of: by it, a wish that is late is known."""


def caused_event(intake: IntakeRequest, heard: WebhookDelivery, name: str, source: str, now: datetime) -> CloudEvent:
    """The event that asks for it, under an id that is its source's own."""
    return CloudEvent(
        id=name,
        source=source,
        type=declared(type(intake)).type,
        subject=f"{intake.tenant}/{intake.name}",
        time=now,
        datacontenttype="application/json",
        extensions={
            "correlationid": heard.event.extensions.get("correlationid", heard.event.id),
            "causationid": heard.event.id,
            SEQUENCE: str(heard.sequence),
        },
        data=msgspec.json.encode(intake),
    )
