"""`alate events tail` shows what is said, as it is said."""

import asyncio
import sys
from collections.abc import Callable
from contextlib import aclosing
from datetime import datetime

from events.bus import Bus, CaughtUp
from services.trail.said import Said
from services.trail.which import Which

SOON = 0.02
"""Seconds until what was written is seen: each line by itself would cost more than the event."""


class Out:
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


def stdout() -> Out:
    """To where a command writes."""
    return Out(sys.stdout.write, sys.stdout.flush)


async def tail(bus: Bus, which: Which, since: datetime | None, *, as_json: bool, out: Out) -> None:
    """Show all that is meant, from `since` on (None: from now on), until cancelled."""
    shown = Said.line if as_json else Said.words
    async with asyncio.TaskGroup() as group:
        for stream in which.streams:
            group.create_task(_tail(bus, stream, which, since, lambda said: out.line(shown(said))))


async def _tail(bus: Bus, stream: str, which: Which, since: datetime | None, show: Callable[[Said], None]) -> None:
    newest = 0
    async with aclosing(bus.follow(stream, which.filter(stream), since=since)) as feed:
        async for stored in feed:
            if isinstance(stored, CaughtUp) or stored.sequence <= newest:
                continue
            newest = stored.sequence
            if which.lets(said := Said(stream, stored)):
                show(said)
