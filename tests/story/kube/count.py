"""What is left and what was lost is counted from outside, with the demo's own counters."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from events.bus import Bus
from events.kube.client import Kube
from schemas.subjects import Key
from services.cli.demo import leftovers
from services.cli.demo.audit import CountResult, Evidence, audit
from services.cli.demo.leftovers import Objects
from services.cli.demo.proof import Counter, _attempts, _purchase, _record


@dataclass(frozen=True)
class Count:
    """Everything but zero, in words."""

    left: dict[str, int]
    audit: CountResult

    @property
    def clean(self) -> bool:
        return not (self.left or self.audit.lost or self.audit.duplicates)


async def settled(kube: Kube) -> Objects:
    """Every object, once nobody adds any more: what a control plane makes for itself is there."""
    before = await leftovers.objects(kube)
    while True:
        await asyncio.sleep(1)
        after = await leftovers.objects(kube)
        if after == before:
            return after
        before = after


async def counted(bus: Bus, kube: Kube, before: Objects, expected: frozenset[Key]) -> Count:
    """Count once."""
    histories = await Counter(bus, kube, Path(), 0, before, expected)._histories()
    books = await leftovers.bills(kube)
    made = leftovers.made(books)
    attempts = {f"{key.tenant}/{a.object_name(key.name)}": a for key, a in _attempts(histories)}
    left = {
        **leftovers.counted(before, await leftovers.objects(kube)),
        "machines at the cloud": leftovers.running(books),
        **await leftovers.on_the_bus(bus),
    }
    evidence = Evidence(
        {key: [_record(stored) for stored, _ in history] for key, history in histories.items()},
        expected,
        await bus.count("DLQ", "dlq.>"),
        purchases=tuple(_purchase(name, attempts.get(name), each) for name, each in made.items()),
    )
    return Count({what: number for what, number in left.items() if number}, audit(evidence))
