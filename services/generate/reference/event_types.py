"""Every event on one page: its subject, who publishes and who consumes it, how long it is kept, an example."""

import msgspec

from schemas.discover import lifecycles
from schemas.generate.example import example
from schemas.generate.text import table
from schemas.registry import Declaration, declarations
from services.generate.event_pages import KEPT, hearers, kept, readers
from services.generate.reference import markdown
from services.generate.reference.markdown import code, section, text

INTRO = (
    "Events are CloudEvents 1.0 on NATS: attributes in `ce-*` headers, the payload as JSON. A message on the stream "
    "EVENTS is at once the event, the entity's complete new state, and its lock; one on LEVELS replaces the message "
    "before it; one on INTAKE is a request that anyone with the right may publish. JSON schemas and an AsyncAPI "
    "document are in `schemas/generated/`."
)


def page() -> str:
    """The page."""
    lifecycles()  # imports every module that declares events
    events = declarations()
    rows = [(f"[{each.type}](#{anchor(each.type)})", each.owner, text(each.doc)) for each in events]
    index = table(("Event", "Published by", "Meaning"), rows)
    return markdown.page("Events", INTRO, index, *map(_section, events))


def anchor(title: str) -> str:
    """The fragment of a heading, which GitHub and the built site make alike."""
    return title.replace(".", "").lower()


def _section(event: Declaration) -> str:
    shown = msgspec.json.format(msgspec.json.encode(example(event.struct))).decode()
    facts = (
        ("Subject", ", ".join(map(code, event.subjects))),
        ("Published by", event.owner),
        ("Consumed by", ", ".join(hearers(event)) or "nobody"),
        ("Read by", ", ".join(readers(event)) or "nobody"),
        ("Kept", f"on `{event.stream.value}`: {kept(KEPT[event.stream.value])}"),
    )
    return section(event.type, text(event.doc), table(("", ""), facts), f"```json\n{shown}\n```")
