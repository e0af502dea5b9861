"""`alate events replay` redelivers messages to one consumer; without --send it only lists them."""

from collections.abc import AsyncGenerator
from datetime import datetime

import msgspec

from events.bus import Bus, ConsumerLag, Message
from events.streams import Redrive, publish_once, redriven
from schemas.subjects import matcher, token
from services.cli.events.tail import event_text
from services.cli.output.render import Form, TextWriter
from services.errors import BadInput
from services.eventlog.filters import STREAMS, Which
from services.eventlog.record import EventRecord
from services.eventlog.scan import EVERY, ReportProgress, kept, progress

MARK = "ce-replay"
"""The extension that tells a replayed event from one that is new; its value is the run."""


async def replay(  # noqa: PLR0913 - to whom, what, since when, really or not
    bus: Bus,
    consumer: str,
    which: Which,
    since: datetime,
    *,
    run: str,
    send: bool,
    form: Form,
    write: TextWriter,
    say: ReportProgress = progress,
) -> None:
    """Show, or send, every stored event since then that the consumer hears. Raises BadInput if there is no such one.

    Of one `run` nothing is told twice: broken off, it is gone on with under the same name.
    """
    place = await found(bus, consumer)
    number = 0
    async for record in heard(bus, place, which, since, say):
        if send:
            await publish_once(bus, again(record, place, run))
        write(event_text(record, form))
        number += 1
        if send and number % (EVERY // 10) == 0:
            say(f"{number} told")
    done = f"told to {consumer} alone; `--run {run}` goes on with it" if send else f"for {consumer}; --send tells it"
    say(f"{number} events {done}")


def again(record: EventRecord, place: ConsumerLag, run: str) -> Message:
    """The event as that consumer alone receives it, marked as one of a replay."""
    stored = msgspec.structs.replace(record.stored, headers={**record.stored.headers, MARK: run})
    return redriven(stored, Redrive(place.stream, place.consumer, f"{token(run)}-{stored.sequence}"), stored.subject)


async def found(bus: Bus, consumer: str) -> ConsumerLag:
    """How a consumer stands, in whatever stream. Raises BadInput."""
    places = [place for stream in STREAMS for place in await bus.consumers(stream)]
    for place in places:
        if place.consumer == consumer:
            return place
    raise BadInput(f"there is no consumer {consumer}: must be one of {', '.join(each.consumer for each in places)}")


async def heard(
    bus: Bus, place: ConsumerLag, which: Which, since: datetime, say: ReportProgress
) -> AsyncGenerator[EventRecord, None]:
    """The selected messages that the consumer receives, oldest first."""
    mine = matcher(place.filters)
    asked = matcher((which.filter(place.stream),))
    async for record in kept(bus, place.stream, since=since, tell=say):
        subject = record.stored.subject
        if mine(subject) and asked(subject) and which.lets(record):
            yield record
