"""Reads streams in order and reports progress."""

import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import UTC, datetime

from events.bus import EPOCH, Bus, CaughtUp
from schemas.durations import parse
from services.errors import BadInput, Failed
from services.eventlog.filters import STREAMS, is_event
from services.eventlog.record import EventRecord

EVERY = 20_000
"""Messages between two progress reports."""
ReportProgress = Callable[[str], object]


def progress(line: str) -> None:
    """Report progress on standard error."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


async def kept(
    bus: Bus,
    stream: str,
    filter: str = ">",  # noqa: A002 - JetStream's own word
    *,
    since: datetime = EPOCH,
    tell: ReportProgress = progress,
) -> AsyncGenerator[EventRecord, None]:
    """Every stored event that matches the filter, oldest first."""
    newest = number = 0
    async with aclosing(bus.follow(stream, filter, since=since)) as feed:
        async for stored in feed:
            if isinstance(stored, CaughtUp):
                return
            if stored.sequence <= newest:  # a feed that had to begin again repeats itself
                continue
            newest, number = stored.sequence, number + 1
            if number % EVERY == 0:
                tell(f"{number} messages of {stream} read, now at {stored.time:%Y-%m-%d %H:%M:%S}")
            if is_event(stream, stored.subject):
                yield EventRecord(stream, stored)


async def find(bus: Bus, name: str) -> EventRecord:
    """The message of an event's id, or of a place such as ``EVENTS/42``. Raises Failed."""
    stream, _, sequence = name.partition("/")
    if stream in STREAMS and sequence.isdigit():
        stored = await bus.at(stream, int(sequence))
        if stored is not None:
            return EventRecord(stream, stored)
        raise Failed(f"nothing is kept at {name}: it was never there, or has been replaced or purged")
    for stream in STREAMS:
        async with aclosing(kept(bus, stream)) as messages:
            async for record in messages:
                if record.id == name:
                    return record
    raise Failed(f"no event {name} is kept: `alate events tail --since 1h` shows ids")


def moment(text: str, now: datetime) -> datetime:
    """A time, written as one (RFC 3339) or as how long ago (``90s``, ``2h``). Raises BadInput."""
    try:
        return now - parse(text)
    except ValueError:
        pass
    try:
        time = datetime.fromisoformat(text)
    except ValueError as wrong:
        raise BadInput(
            f"--since {text}: must be how long ago, such as 2h, or a time such as 2026-11-21T08:00Z"
        ) from wrong
    return time if time.tzinfo else time.replace(tzinfo=UTC)
