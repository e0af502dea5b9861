"""`alate events get` shows one event in full."""

from collections.abc import Iterator

import msgspec

from events.bus import Bus
from services.cli.output.render import Form, TextWriter, document
from services.eventlog.record import EventRecord, clock
from services.eventlog.scan import find


async def get(bus: Bus, name: str, *, form: Form, write: TextWriter) -> None:
    """Show it. Raises Failed if it is not kept."""
    said = await find(bus, name)
    write("".join(f"{line}\n" for line in _lines(said)) if form == "table" else document(said.item(), form))


def _lines(said: EventRecord) -> Iterator[str]:
    yield f"{said.stored.subject}   {said.place}   {clock(said.stored.time)} UTC"
    item = said.item()
    for name, value in (*item["headers"].items(), *item["event"].items()):
        if name not in ("data", "data_base64"):
            yield f"  {name:<16}{value}"
    if "data" in item["event"]:
        yield msgspec.json.format(said.stored.data, indent=2).decode()
    elif said.stored.data:
        yield repr(said.stored.data)
