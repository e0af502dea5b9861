"""Decides stored transitions again with this build, and compares the results.

A transition can be made again if its state before and the event that led to it are kept. The event is kept if it was
another entity's state, or a level that nothing has replaced, or if it is in a recording that is given beside the bus.
What came of a service's own work (the market's answer, an apply) was never a message: that is counted, not guessed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from schemas.attempts import MarketChanged
from schemas.entity import Due, State
from schemas.registry import declared
from schemas.subjects import Key, key_of
from services.addons.replay import SUBSCRIPTIONS as ADDON_SUBSCRIPTIONS
from services.addons.replay import decide as addon
from services.eventlog.record import EventRecord
from services.provisioning.replay import SUBSCRIPTIONS as CLUSTER_SUBSCRIPTIONS
from services.provisioning.replay import decide as cluster
from services.queries.item import Item
from services.runtime.consumer import Router
from services.runtime.machine import Event, Machine
from services.runtime.read_model import Undecodable
from services.teardown.replay import SUBSCRIPTIONS as TEARDOWN_SUBSCRIPTIONS
from services.teardown.replay import decide as teardown

MOMENT = timedelta(seconds=1)
OWNERS: Mapping[str, tuple[Machine, Router]] = {
    "cluster": (cluster, Router(CLUSTER_SUBSCRIPTIONS)),
    "addon": (addon, Router(ADDON_SUBSCRIPTIONS)),
    "teardown": (teardown, Router(TEARDOWN_SUBSCRIPTIONS)),
}
"""The decisions and the subscriptions of each owner, by domain."""
BROADCASTS: Mapping[str, tuple[Event, ...]] = {"cluster": (MarketChanged(),)}
"""What a message can mean for entities that it does not name: new offers or machines, for each waiting cluster."""
COST = "costUsd"
COST_TOLERANCE = 0.05
"""USD that a cluster may cost within `MOMENT`."""


class ReplayOutcome(StrEnum):
    """The result of deciding again."""

    SAME = "same"
    DIFFERS = "differs"
    UNREADABLE = "unreadable"
    """This build cannot read the state that is stored."""
    UNLAWFUL = "unlawful"
    """This build has no transition from the state before to this one."""
    REPLACED = "cause not kept"
    OWN_WORK = "came of its own work"


WRONG = (ReplayOutcome.DIFFERS, ReplayOutcome.UNREADABLE, ReplayOutcome.UNLAWFUL)


class Comparison(NamedTuple):
    """One transition, decided again."""

    record: EventRecord
    found: ReplayOutcome
    why: str = ""
    changed: Mapping[str, tuple[object, object]] = {}
    """Field by field, what is stored and what this build decides."""

    def item(self) -> Item:
        """As JSON would have it."""
        changed = {name: {"stored": pair[0], "now": pair[1]} for name, pair in self.changed.items()}
        where = {"id": self.record.id, "subject": self.record.stored.subject, "place": self.record.place}
        return {**where, "cause": self.record.cause, "found": self.found.value, "why": self.why, "changed": changed}


def look_again(messages: Sequence[EventRecord], others: Iterable[EventRecord] = ()) -> Iterator[Comparison]:
    """Every transition among the messages; `others` are further ones that may be their causes."""
    causes: dict[str, list[EventRecord]] = {}
    for record in (*messages, *others):
        causes.setdefault(record.id, []).append(record)
    last: dict[Key, EventRecord] = {}
    for record in messages:
        key = key_of(record.stored.subject)
        yield _look(key, last.get(key), record, causes)
        last[key] = record


def _look(
    key: Key, before: EventRecord | None, record: EventRecord, causes: Mapping[str, list[EventRecord]]
) -> Comparison:
    machine, router = OWNERS[key.domain]
    try:
        old, new = _state(machine, before), _state(machine, record)
    except (msgspec.DecodeError, KeyError) as why:
        return Comparison(record, ReplayOutcome.UNREADABLE, str(why))
    if new is None or not _lawful(machine, old, new):
        return Comparison(record, ReplayOutcome.UNLAWFUL, f"from {before.stored.subject if before else 'nothing'}")
    if record.cause and before is not None and before.cause == record.cause:
        return Comparison(record, ReplayOutcome.OWN_WORK)
    if record.cause and record.cause not in causes:
        return Comparison(record, ReplayOutcome.REPLACED)
    events = _events(key, router, causes[record.cause]) if record.cause else [Due()]
    return _decided(machine, old, new, events, record)


def _decided(
    machine: Machine, old: State | None, new: State, events: Sequence[Event], record: EventRecord
) -> Comparison:
    made = [_stamped(machine.decide(old, event, new.since), new) for event in events]
    if any(state is not None and not _changed(new, state) for state in made):
        return Comparison(record, ReplayOutcome.SAME)
    if not record.cause:  # a timer would have led elsewhere: so it was its own work, resumed
        return Comparison(record, ReplayOutcome.OWN_WORK)
    other = next((state for state in made if state is not None and state != _stamped(old, new)), None)
    return Comparison(
        record, ReplayOutcome.DIFFERS, f"{type(other).__name__ if other else 'nothing new'}", _changed(new, other)
    )


def _events(key: Key, router: Router, causes: Iterable[EventRecord]) -> list[Event]:
    """What the causes mean for the entity; several messages can have one id, on different streams."""
    found: list[Event] = []
    for cause in causes:
        try:
            found += [event for entity, event in router.read(cause.stored) if entity == key]
        except Undecodable:
            continue
    return found or list(BROADCASTS.get(key.domain, ()))


def _state(machine: Machine, record: EventRecord | None) -> State | None:
    if record is None:
        return None
    shapes: dict[str, Any] = {declared(shape).event: shape for shape in machine.lifecycle.states}
    state: State = msgspec.json.decode(record.stored.data, type=shapes[record.stored.subject.split(".")[1]])
    return state


def _lawful(machine: Machine, old: State | None, new: State) -> bool:
    after: Any = machine.lifecycle.leads_to.get(type(old) if old is not None else None, ())
    return type(new) is type(old) or type(new) in after


def _stamped(state: State | None, like: State) -> State | None:
    """Revision and time come from the entity store, not from the decision."""
    if state is None:
        return None
    return state.but(revision=like.revision, since=like.since)


def _changed(stored: State, now: State | None) -> dict[str, tuple[object, object]]:
    one, other = _plain(stored), _plain(now) if now is not None else {}
    if now is not None and type(now) is not type(stored):
        return {"state": (type(stored).__name__, type(now).__name__)}
    names = sorted(one.keys() | other.keys())
    return {
        name: (one.get(name), other.get(name)) for name in names if not _alike(one.get(name), other.get(name), name)
    }


def _plain(state: State) -> dict[str, object]:
    plain: dict[str, object] = msgspec.to_builtins(state, builtin_types=(datetime,))
    return plain


def _alike(one: object, other: object, name: str = "") -> bool:
    """Equal; times and costs also if they are of one moment: the store's clock is read after that of the decision."""
    match one, other:
        case datetime(), datetime():
            return abs(one - other) < MOMENT
        case (float() | None, float() | None) if name == COST:  # nothing is not written
            return abs((one or 0.0) - (other or 0.0)) < COST_TOLERANCE
        case dict(), dict():
            return one.keys() == other.keys() and all(_alike(one[key], other[key], key) for key in one)
        case list() | tuple(), list() | tuple():
            return len(one) == len(other) and all(map(_alike, one, other))
    return one == other
