"""Delivers a dead letter again to the consumer that failed, then deletes it."""

from collections.abc import Sequence

from events.bus import Bus
from events.streams import Redrive, publish_once, redriven
from services.errors import Failed
from services.eventlog.dead_letters import DeadLetter
from services.eventlog.filters import STREAMS
from services.eventlog.scan import kept

STREAM = "DLQ"


async def letters(bus: Bus) -> list[DeadLetter]:
    """All of them, oldest first."""
    return [DeadLetter(record) async for record in kept(bus, STREAM)]


async def check(bus: Bus, found: Sequence[DeadLetter]) -> None:
    """Check that the consumer of each letter exists."""
    known = {
        (place.stream, place.consumer)
        for stream in {letter.failed[0] for letter in found} & set(STREAMS)
        for place in await bus.consumers(stream)
    }
    for letter in found:
        if letter.failed not in known or not letter.subject:
            who = "/".join(letter.failed) if any(letter.failed) else letter.record.stored.subject
            raise Failed(f"dead letter {letter.number} cannot be redriven: there is no consumer {who} to hear it")


async def again(bus: Bus, letter: DeadLetter) -> None:
    """Redeliver one letter, then delete it. A repeat after a crash is deduplicated by the bus."""
    stream, consumer = letter.failed
    await publish_once(
        bus, redriven(letter.record.stored, Redrive(stream, consumer, f"dlq-{letter.number}"), letter.subject)
    )
    await bus.drop(STREAM, letter.number)
