"""`alate events get` shows one event in full."""

from collections.abc import Iterator

import msgspec

from events.bus import Bus
from services.cli.output.render import Form, TextWriter, document
from services.eventlog.record import EventRecord, clock
from services.eventlog.scan import find


async def get(bus: Bus, name: str, *, form: Form, write: TextWriter) -> None:
    """Show it. Raises Failed if it is not kept."""
    record = await find(bus, name)
    write("".join(f"{line}\n" for line in _lines(record)) if form == "table" else document(record.item(), form))


def _lines(record: EventRecord) -> Iterator[str]:
    yield f"{record.stored.subject}   {record.place}   {clock(record.stored.time)} UTC"
    item = record.item()
    for name, value in (*item["headers"].items(), *item["event"].items()):
        if name not in ("data", "data_base64"):
            yield f"  {name:<16}{value}"
    if "data" in item["event"]:
        yield msgspec.json.format(record.stored.data, indent=2).decode()
    elif record.stored.data:
        yield repr(record.stored.data)
