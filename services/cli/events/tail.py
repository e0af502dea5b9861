"""`alate events tail` shows messages as they are published."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, aclosing
from datetime import datetime

from events.bus import Bus, CaughtUp, Stored
from services.cli.output.render import Form, yaml_text
from services.eventlog.filters import Which
from services.eventlog.record import EventRecord

SOON = 0.02
"""Seconds until what was written is seen: each line by itself would cost more than the event."""
EventFeed = AsyncGenerator[Stored | CaughtUp, None]
ShowEvent = Callable[[EventRecord], None]


class BufferedOutput:
    """Writes many lines with few calls."""

    def __init__(self, write: Callable[[str], object], flush: Callable[[], object]) -> None:
        self._write = write
        self._flush = flush
        self._waiting = False

    def line(self, text: str) -> None:
        """Write it; it is seen `SOON`."""
        self._write(text)
        if not self._waiting:
            self._waiting = True
            asyncio.get_running_loop().call_later(SOON, self.flush)

    def flush(self) -> None:
        """Let everything be seen."""
        self._waiting = False
        self._flush()


def stdout() -> BufferedOutput:
    """To where a command writes."""
    return BufferedOutput(sys.stdout.write, sys.stdout.flush)


def event_text(record: EventRecord, form: Form) -> str:
    """One event: a line for people, a line of JSON, or a document of YAML."""
    if form == "yaml":
        return f"---\n{yaml_text(record.item())}"
    return record.line() if form == "json" else record.words()


async def tail(bus: Bus, which: Which, since: datetime | None, *, form: Form, out: BufferedOutput) -> None:
    """Show all that is meant, from `since` on (None: from now on), until cancelled; what was before, by time."""

    def show(record: EventRecord) -> None:
        if which.lets(record):
            out.line(event_text(record, form))

    async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        feeds = {
            stream: await stack.enter_async_context(aclosing(bus.follow(stream, which.filter(stream), since=since)))
            for stream in which.streams
        }
        newest = await _before(feeds, show)
        for stream, feed in feeds.items():
            group.create_task(_tail(stream, feed, newest.get(stream, 0), show))


async def _before(feeds: Mapping[str, EventFeed], show: ShowEvent) -> dict[str, int]:
    """Show what the streams hold already, all of them in one order; gives the last sequence of each."""
    heads: dict[str, Stored] = {}
    behind, newest = set(feeds), dict[str, int]()
    while behind or heads:
        for stream in tuple(behind - heads.keys()):
            if isinstance(stored := await anext(feeds[stream], None), Stored):
                heads[stream] = stored
            else:
                behind.discard(stream)
        if heads:
            stream = min(heads, key=lambda each: heads[each].time)
            stored = heads.pop(stream)
            newest[stream] = stored.sequence
            show(EventRecord(stream, stored))
    return newest


async def _tail(stream: str, feed: EventFeed, newest: int, show: ShowEvent) -> None:
    async for stored in feed:
        if isinstance(stored, CaughtUp) or stored.sequence <= newest:
            continue
        newest = stored.sequence
        show(EventRecord(stream, stored))
