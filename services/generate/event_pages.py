"""`python -m services.generate.event_pages` writes one page per event: example, shape, publisher, consumers, retention.

Not among what `schemas` generates, which knows neither who hears nor what a stream keeps.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from events.streams import DAY, STREAMS, StreamSpec
from schemas.discover import lifecycles
from schemas.generate import folder
from schemas.generate.example import example
from schemas.generate.text import as_markdown, table
from schemas.registry import Declaration, declarations
from schemas.subjects import matcher
from services.roles import SERVICES

OUT = Path(__file__).parents[2] / "schemas" / "generated" / "events"
KEPT = {spec.name: spec for spec in STREAMS}


def files() -> dict[str, str]:
    """Every page, and the index, by name."""
    lifecycles()  # imports every noun, which declares its messages
    rows = [(f"[{each.type}]({each.type}.md)", each.owner, each.doc) for each in declarations()]
    index = as_markdown("Events", table(("Event", "Publisher", "Meaning"), rows))
    return {"README.md": index} | {f"{each.type}.md": page(each) for each in declarations()}


def page(event: Declaration) -> str:
    """One event."""
    shown = msgspec.json.format(msgspec.json.encode(example(event.struct))).decode()
    facts = (
        ("Subject", ", ".join(f"`{each}`" for each in event.subjects)),
        ("Published by", event.owner),
        ("Consumed by", ", ".join(hearers(event)) or "nobody"),
        ("Read by", ", ".join(readers(event)) or "nobody"),
        ("Kept", f"on `{event.stream.value}`: {kept(KEPT[event.stream.value])}"),
        ("Schema", f"[{event.type}.json](../jsonschema/{event.type}.json)"),
    )
    return as_markdown(event.type, event.doc, table(("", ""), facts), f"An example:\n\n```json\n{shown}\n```")


def hearers(event: Declaration) -> list[str]:
    """The services with a durable place for it."""
    subjects = [each.replace("{", "").replace("}", "") for each in event.subjects]
    filters = {role.name: tuple(each for one in role.works for each in one.filters) for role in SERVICES}
    return [name for name, heard in filters.items() if heard and any(map(matcher(heard), subjects))]


def readers(event: Declaration) -> list[str]:
    """The services that may look at it, for views and for what people ask."""
    return [role.name for role in SERVICES if event.stream.value in (*role.reads, *role.looks)]


def kept(spec: StreamSpec) -> str:
    """How long a stream keeps a message."""
    if spec.per_subject == 1:
        return "the newest of each subject, until what it is about is gone"
    if spec.max_age:
        return f"{spec.max_age / DAY:g} days"
    return "the whole history, until `ALATE_RETENTION_DAYS` after its entity has ended"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pages; with ``--check`` name each one that differs, and give 1 if any does."""
    parser = argparse.ArgumentParser(
        prog="python -m services.generate.event_pages", description="Write a page per event."
    )
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 if a page would change")
    return folder.command(OUT, files(), "what is declared", check=parser.parse_args(arguments).check)


if __name__ == "__main__":
    sys.exit(main())
