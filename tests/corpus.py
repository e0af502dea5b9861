"""What releases stored, as `alate events tail -o json` wrote it: each adds a file, none is ever changed."""

from datetime import datetime
from pathlib import Path

from events.bus import Message
from events.memory.bus import MemoryBus
from services.eventlog.record import EventRecord, read

FOLDER = Path(__file__).parent / "data" / "corpus"
RELEASES = sorted(path.stem for path in FOLDER.glob("*.jsonl"))


def corpus(release: str) -> list[EventRecord]:
    """Every message of a release, in the order it was said."""
    return [read(line) for line in (FOLDER / f"{release}.jsonl").read_bytes().splitlines()]


async def replayed(release: str) -> MemoryBus:
    """A bus on which all of it was said again, at the times it was said."""
    times: list[datetime] = []
    bus = MemoryBus(clock=lambda: times[-1])
    for each in corpus(release):
        times.append(each.stored.time)
        await bus.publish(Message(each.stored.subject, each.stored.data, each.stored.headers))
    return bus
