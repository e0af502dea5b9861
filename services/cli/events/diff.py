"""`alate events diff` decides stored transitions again with this build and shows differences."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from events.bus import EPOCH, Bus
from schemas.registry import Stream
from services.cli.events.shadow import WRONG, Comparison, ReplayOutcome, look_again
from services.cli.output.render import Form, TextWriter, document
from services.errors import BadInput
from services.eventlog.record import EventRecord, read
from services.eventlog.scan import kept


async def diff(bus: Bus, since: datetime, recordings: Sequence[Path], *, form: Form, write: TextWriter) -> bool:
    """Show it; whether nothing differs of what was decided since then."""
    others = [record for file in recordings for record in recorded(file)]
    others += [record async for record in kept(bus, Stream.LEVELS, since=EPOCH)]
    messages = [record async for record in kept(bus, Stream.EVENTS)]  # a state before may be older than `since`
    looks = [look for look in look_again(messages, others) if look.record.stored.time >= since]
    wrong = [look for look in looks if look.found in WRONG]
    counts = Counter(look.found for look in looks)
    if form != "table":
        numbers = {found.value: counts[found] for found in ReplayOutcome}
        write(
            document(
                {"transitions": len(looks), "found": numbers, "differences": [look.item() for look in wrong]}, form
            )
        )
    else:
        write("".join([*map(_lines, wrong), *_summary(counts, len(looks))]))
    return not wrong


def recorded(file: Path) -> list[EventRecord]:
    """What `alate events tail -o json` wrote. Raises BadInput."""
    try:
        lines = file.read_bytes().splitlines()
    except OSError as why:
        raise BadInput(f"{file} cannot be read ({why}): must be what `alate events tail -o json` wrote") from why
    found = []
    for number, line in enumerate(lines, start=1):
        try:
            found.append(read(line))
        except msgspec.DecodeError as why:
            raise BadInput(f"{file} line {number}: {why}; must be what `alate events tail -o json` wrote") from why
    return found


def _lines(look: Comparison) -> str:
    head = f"{look.found.value}: {look.record.stored.subject}  {look.record.place}  {look.record.id}  {look.why}\n"
    return head + "".join(f"    {name}: stored {one!r}, now {other!r}\n" for name, (one, other) in look.changed.items())


def _summary(counts: Counter[ReplayOutcome], total: int) -> list[str]:
    made = counts[ReplayOutcome.SAME] + counts[ReplayOutcome.DIFFERS]
    lines = [f"{total} transitions, {made} of them decided again: {counts[ReplayOutcome.SAME]} the same\n"]
    notes = {
        ReplayOutcome.REPLACED: "cannot be: a level that led to them has been replaced since; --with takes a recording",
        ReplayOutcome.OWN_WORK: "cannot be: they are the result of the service's own work, which is no message",
    }
    lines += [f"{counts[found]} {note}\n" for found, note in notes.items() if counts[found]]
    return lines
