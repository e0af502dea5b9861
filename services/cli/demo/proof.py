"""Counts everything at the end of the story until it is zero or the time is up."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from events.bus import Bus, Stored, Unavailable
from events.errors import Fault
from events.kube.client import Kube
from schemas.cluster import Placed, Placing, Releasing
from schemas.entity import State
from schemas.placement import Attempt
from schemas.registry import Stream
from schemas.subjects import Key, key_of
from services.cli.demo import leftovers
from services.cli.demo.audit import CountResult, Evidence, Purchase, Record, audit
from services.cli.demo.leftovers import Objects
from services.cli.demo.story import LIFECYCLES, read
from services.cli.demo.unanswered import unanswered
from services.errors import Failed

PAUSE = 0.5
"""Seconds between two counts."""


@dataclass(frozen=True)
class Proof:
    """What was counted."""

    leftovers: dict[str, int]
    audit: CountResult

    @property
    def clean(self) -> bool:
        """Nothing is left, lost or duplicated."""
        return not (any(self.leftovers.values()) or self.audit.lost or self.audit.duplicates)


@dataclass(frozen=True)
class Counter:
    """Counts, through connections of its own, what services should have left behind: nothing."""

    bus: Bus
    kube: Kube
    kubeconfig: Path
    monitor: int
    before: Objects
    """What was there before anything was asked for."""
    expected: frozenset[Key]
    """Entities that must have come and gone."""

    async def settled(self, within: float) -> Proof:
        """Count until it is clean, at most so many seconds; gives the last count. Raises Failed if none was made."""
        end = asyncio.get_running_loop().time() + within
        while True:
            late = asyncio.get_running_loop().time() > end
            try:
                proof = await self.count()
            except (Fault, Unavailable, Failed) as away:
                if late:
                    raise Failed(f"what is left could not be counted: {away}") from away
            else:
                if proof.clean or late:
                    return proof
            await asyncio.sleep(PAUSE)

    async def count(self) -> Proof:
        """Count once. Raises Fault, Unavailable, Failed."""
        books = await leftovers.bills(self.kube)
        after = await leftovers.objects(self.kube)
        histories = await self._histories()
        made = leftovers.made(books)
        attempts = {f"{key.tenant}/{a.object_name(key.name)}": a for key, a in _attempts(histories)}
        left = {
            **leftovers.counted(self.before, after),
            "machines at the cloud": leftovers.running(books),
            "cluster APIs": await leftovers.served(self.kubeconfig, sorted({*made, *attempts})),
            **await leftovers.on_the_bus(self.bus),
        }
        evidence = Evidence(
            {key: [_record(stored) for stored, _ in history] for key, history in histories.items()},
            self.expected,
            await self.bus.count("DLQ", "dlq.>"),
            await unanswered(self.monitor),
            tuple(_purchase(name, attempts.get(name), made.get(name, ())) for name in sorted({*made, *attempts})),
        )
        return Proof(left, audit(evidence))

    async def _histories(self) -> dict[Key, list[tuple[Stored, State]]]:
        found: dict[Key, list[tuple[Stored, State]]] = {}
        for lifecycle in LIFECYCLES:
            for stored in await self.bus.read(Stream.EVENTS, f"{lifecycle.domain}.*.*.*"):
                event = read(stored)
                if event is not None and isinstance(event.content, State):
                    found.setdefault(key_of(stored.subject), []).append((stored, event.content))
        return found


def _record(stored: Stored) -> Record:
    state = msgspec.json.decode(stored.data, type=State)
    return Record(
        stored.sequence, stored.subject.split(".")[1], state.uid, state.revision, stored.headers.get("ce-id", "")
    )


def _attempts(histories: Mapping[Key, Iterable[tuple[Stored, State]]]) -> Iterable[tuple[Key, Attempt]]:
    """Every attempt any cluster ever began."""
    for key, history in histories.items():
        for _, state in history:
            if isinstance(state, Placed | Releasing | Placing) and state.attempt is not None:
                yield key, state.attempt


def _purchase(name: str, attempt: Attempt | None, made: Iterable[str]) -> Purchase:
    """Machines of the kinds that were bought; what else the cloud made is a control plane, of which there is one."""
    lots = attempt.placement.lots if attempt else ()
    kinds = {lot.instance for lot in lots}
    made = list(made)
    others = max(0, sum(instance not in kinds for instance in made) - 1)
    return Purchase(name, sum(lot.nodes for lot in lots), sum(instance in kinds for instance in made) + others)
