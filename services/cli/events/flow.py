"""Collects every event of one flow from the streams, starting from any of them."""

from collections.abc import Callable

from events.bus import Bus
from schemas.registry import Stream
from services.cli.events.lineage import release_of, request_of
from services.errors import Failed
from services.eventlog.record import EventRecord
from services.eventlog.scan import ReportProgress, find, kept, progress

ASKED = (Stream.INTAKE, "HOOKS")
"""Where flows begin that do not begin with a Colony written by hand."""


async def gather(bus: Bus, name: str, tell: ReportProgress = progress) -> tuple[list[EventRecord], EventRecord | None]:
    """The messages of an event's flow, and the event; None if the name is the flow's own. Raises Failed."""
    try:
        selected = await find(bus, name)
    except Failed:
        if found := await _flow(bus, name, tell):
            return found, None
        raise
    # What came in by a webhook names that delivery as its flow: the states that came of it have one of their own.
    found = await _flow(bus, selected.flow, tell) or await _flow(bus, await _flow_of(bus, selected), tell)
    whole = {record.place: record for record in (*found, selected)}
    ids = {record.id for record in whole.values()}
    letters = {record.place: record async for record in kept(bus, "DLQ", tell=tell) if record.id in ids}
    return [*(whole | letters).values()], selected


async def _flow(bus: Bus, flow: str, tell: ReportProgress) -> list[EventRecord]:
    """All states of a flow, with the requests they go back to."""
    if not flow:
        return []
    states = [record async for record in kept(bus, Stream.EVENTS, tell=tell) if record.flow == flow]
    wanted = {name for record in states for name in (request_of(record), release_of(record), record.cause)}
    requests = []
    for stream in ASKED:
        more = [record async for record in kept(bus, stream, tell=tell) if record.id in wanted]
        wanted |= {record.cause for record in more}
        requests += more
    return [*requests, *states]


async def _flow_of(bus: Bus, selected: EventRecord) -> str:
    """The flow of what was asked for, or seen, before there was a flow; empty if nothing came of it."""
    came = {record.id async for record in kept(bus, Stream.INTAKE) if selected.id and record.cause == selected.id}
    ids = ({selected.id} | came) - {""}
    return await _first(bus, lambda record: not ids.isdisjoint((record.cause, request_of(record), release_of(record))))


async def _first(bus: Bus, is_it: Callable[[EventRecord], bool]) -> str:
    async for record in kept(bus, Stream.EVENTS):
        if is_it(record):
            return record.flow
    return ""
