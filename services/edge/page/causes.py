"""What caused a transition, in words that a person understands, and where the message that caused it is stored."""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from events.bus import Bus
from schemas.cluster import ClusterState
from schemas.infra import InfraSeen
from schemas.inventory import ClusterSeen
from schemas.registry import Stream, declared
from schemas.teardown import TeardownState
from schemas.wish import Wish
from services.eventlog.history import HistoryEntry
from services.eventlog.record import EventRecord

OWN = "a timer, or work of its own"
REPLACED = "an observation, replaced by a newer one since"
SNAPSHOTS = {
    declared(Wish): "a change of the Colony",
    declared(InfraSeen): "a report of the infrastructure",
    declared(ClusterSeen): "a count of the nodes and accelerators",
}
"""What the newest values that a cluster's services consume are called."""


class Cause(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why an entity changed its state."""

    text: str
    position: str = ""
    """Of the message; empty where there is none, or it is not stored any more."""


@dataclass(frozen=True)
class TypedTurn:
    """A transition with its state as a typed value; None where it cannot be read."""

    turn: HistoryEntry
    state: object


def causes(entries: list[TypedTurn], snapshots: Mapping[str, Cause]) -> list[Cause]:
    """The cause of each transition; `snapshots` are those of the newest values, by id."""
    known = {entry.turn.record.id: _became(entry.turn) for entry in entries} | dict(snapshots)
    before: dict[object, Wish | None] = {}
    found = []
    for entry in entries:
        wish = entry.state.wish if isinstance(entry.state, ClusterState | TeardownState) else None
        found.append(_cause(entry.turn, known, wish, before.get(entry.turn.key)))
        before[entry.turn.key] = wish
    return found


def _cause(turn: HistoryEntry, known: Mapping[str, Cause], wish: Wish | None, before: Wish | None) -> Cause:
    if not turn.record.cause:
        return Cause(OWN)
    if turn.record.cause in known:
        return known[turn.record.cause]
    return _asked(wish, before) if wish is not None and wish != before else Cause(REPLACED)


def _asked(wish: Wish, before: Wish | None) -> Cause:
    """A change of the Colony, which the next one replaced; the event that asked for it is still known by its id."""
    if wish.deleting and not (before and before.deleting):
        return Cause(f"the deletion of Colony {wish.colony}{_by(wish.release)}")
    verb = "a change of" if before else "the request of"
    return Cause(f"{verb} Colony {wish.colony}{_by(wish.event)}")


def _by(event: str) -> str:
    return f", by event {event}" if event else ""


def _became(turn: HistoryEntry) -> Cause:
    return Cause(f"{turn.key.domain} {turn.key.name} became {turn.event}", turn.record.place)


async def newest_values(bus: Bus, tenant: str, name: str, objects: frozenset[tuple[str, str]]) -> dict[str, Cause]:
    """Causes by the id of the newest values on a cluster and on what was made for it: back ends and objects."""
    found = {}
    for declaration, text in SNAPSHOTS.items():
        places = objects if declaration.struct is InfraSeen else {(name,)}
        for place in sorted(places):
            for stored in await bus.read(Stream.LEVELS, declaration.at(tenant, *place)):
                record = EventRecord(Stream.LEVELS, stored)
                found[record.id] = Cause(text, record.place)
    return found
