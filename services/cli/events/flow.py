"""Everything that belongs to one flow is gathered from the streams alone, from any event of it."""

from collections.abc import Callable

from events.bus import Bus
from schemas.registry import Stream
from services.bad import Failed
from services.cli.events.lineage import request_of
from services.trail.said import Said
from services.trail.scan import Tell, find, kept, progress

ASKED = (Stream.INTAKE, "HOOKS")
"""Where flows begin that do not begin with a Colony written by hand."""


async def gather(bus: Bus, name: str, tell: Tell = progress) -> tuple[list[Said], Said | None]:
    """The messages of an event's flow, and the event; None if the name is the flow's own. Raises Failed."""
    try:
        asked = await find(bus, name)
    except Failed:
        if found := await _flow(bus, name, tell):
            return found, None
        raise
    flow = asked.flow or await _flow_of(bus, asked)
    found = await _flow(bus, flow, tell) if flow else []
    whole = {said.place: said for said in (*found, asked)}
    ids = {said.id for said in whole.values()}
    letters = {said.place: said async for said in kept(bus, "DLQ", tell=tell) if said.id in ids}
    return [*(whole | letters).values()], asked


async def _flow(bus: Bus, flow: str, tell: Tell) -> list[Said]:
    """All states of a flow, with the requests they go back to."""
    states = [said async for said in kept(bus, Stream.EVENTS, tell=tell) if said.flow == flow]
    wanted = {request_of(said) for said in states} | {said.cause for said in states}
    requests = []
    for stream in ASKED:
        more = [said async for said in kept(bus, stream, tell=tell) if said.id in wanted]
        wanted |= {said.cause for said in more}
        requests += more
    return [*requests, *states]


async def _flow_of(bus: Bus, asked: Said) -> str:
    """The flow of what was asked for, or seen, before there was a flow; empty if nothing came of it."""
    ids = {asked.id} | {said.id async for said in kept(bus, Stream.INTAKE) if said.cause == asked.id}
    return await _first(bus, lambda said: said.cause in ids or request_of(said) in ids)


async def _first(bus: Bus, is_it: Callable[[Said], bool]) -> str:
    async for said in kept(bus, Stream.EVENTS):
        if is_it(said):
            return said.flow
    return ""
