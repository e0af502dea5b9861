"""Reads the history of a cluster, its add-ons and its teardown, with the time in each state."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from events.bus import Bus
from events.streams import ENTITIES
from schemas.entity import State
from schemas.registry import Stream
from schemas.subjects import Key, key_of, token
from services.errors import Failed
from services.eventlog.record import EventRecord
from services.eventlog.scan import kept
from services.queries.item import Item

_state = msgspec.json.Decoder(State).decode


class HistoryEntry(NamedTuple):
    """One transition of one entity."""

    record: EventRecord
    key: Key
    event: str
    state: State
    seconds: float | None
    """Seconds until the entity's next transition; None without one."""

    def item(self) -> Item:
        """As JSON would have it."""
        return {
            "at": self.state.since,
            "entity": f"{self.key.domain}/{self.key.name}",
            "state": self.event,
            "seconds": None if self.seconds is None else round(self.seconds, 6),
            "revision": self.state.revision,
            "uid": self.state.uid,
            "id": self.record.id,
            "cause": self.record.cause,
            "place": self.record.place,
        }


async def history(bus: Bus, tenant: str, cluster: str) -> list[HistoryEntry]:
    """Every transition of a cluster, its add-ons and its teardown, oldest first. Raises Failed if there are none."""
    filters = [f"{entity}.*.{token(tenant)}.{'*' if entity == 'addon' else token(cluster)}" for entity in ENTITIES]
    found = [record for each in filters async for record in kept(bus, Stream.EVENTS, each)]
    found.sort(key=lambda record: record.stored.sequence)
    turns = timed([record for record in found if key_of(record.stored.subject).name.partition(".")[0] == cluster])
    if not turns:
        raise Failed(f"no cluster {cluster} in namespace {tenant} has a history: see `alate get clusters`")
    return turns


def timed(messages: Sequence[EventRecord]) -> list[HistoryEntry]:
    """The transitions, each with the time until its entity's next one."""
    following: dict[Key, datetime] = {}
    turns = []
    for record in reversed(messages):
        key, state = key_of(record.stored.subject), _state(record.stored.data)
        after = following.get(key)
        seconds = (after - state.since).total_seconds() if after else None
        turns.append(HistoryEntry(record, key, record.stored.subject.split(".")[1], state, seconds))
        following[key] = state.since
    return turns[::-1]


def totals(turns: Iterable[HistoryEntry]) -> dict[str, dict[str, float]]:
    """Seconds by entity and state, in the order of first entry; the current state has no time yet."""
    found: dict[str, dict[str, float]] = {}
    for turn in turns:
        if turn.seconds is not None:
            each = found.setdefault(f"{turn.key.domain}/{turn.key.name}", {})
            each[turn.event] = round(each.get(turn.event, 0.0) + turn.seconds, 6)
    return found
