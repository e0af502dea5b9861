"""The event of a request at intake, with the delivery or message that caused it."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from events.cloudevents import CloudEvent
from schemas.registry import declared
from services.edge.triggers.delivery import WEBHOOKS, Heard
from services.edge.triggers.rules import IntakeRequest

SEQUENCE = "hooksequence"
"""The extension with the sequence of the delivery that caused a request: it shows which request is later."""
STREAM = "hookstream"
"""The extension with the stream of that sequence, if it is another than that of webhooks."""


def caused_event(intake: IntakeRequest, heard: Heard, name: str, source: str, now: datetime) -> CloudEvent:
    """The event of a request; `name` is an id that is unique at its source."""
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
            **({} if heard.stream == WEBHOOKS else {STREAM: heard.stream}),
        },
        data=msgspec.json.encode(intake),
    )


def cause_of(attributes: Mapping[str, str], prefix: str = "") -> tuple[str, int]:
    """The stream and the sequence of what caused a request, by its event's extensions; 0: it names none."""
    sequence = attributes.get(f"{prefix}{SEQUENCE}", "0")
    return attributes.get(f"{prefix}{STREAM}", WEBHOOKS), int(sequence) if sequence.isdecimal() else 0
