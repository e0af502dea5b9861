"""A state machine as a table: from a state, on an event, a function gives the next state."""

import inspect
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from events.errors import TryLater
from schemas.entity import Lifecycle, State

Event = msgspec.Struct
Command = msgspec.Struct
TransitionFunction = Callable[..., State | None]
"""Takes (state, event) or (state, event, now); returning the same state means no transition."""
StateClass = type[State] | type[None]
T = TypeVar("T")


@dataclass(eq=False)
class Waits(TryLater):
    """A command cannot be carried out yet: retry, and tell the entity what it waits for."""

    event: Event = field(kw_only=True)


@dataclass(frozen=True)
class TransitionRow:
    """One row of the table."""

    states: tuple[StateClass, ...]
    events: tuple[type[Event], ...]
    step: TransitionFunction
    leads_to: frozenset[type]


def on(
    states: StateClass | tuple[StateClass, ...], events: type[Event] | tuple[type[Event], ...], step: TransitionFunction
) -> TransitionRow:
    """From any of `states` (NoneType: not yet there), on any of `events`, `step`.

    The step's return annotation names what can follow.
    """
    annotation = typing.get_type_hints(step).get("return")
    parts = typing.get_args(annotation) or (annotation,)
    leads_to = frozenset(part for part in parts if isinstance(part, type))
    return TransitionRow(_listed(states), _listed(events), _with_now(step), leads_to)


def _listed(one_or_more: T | tuple[T, ...]) -> tuple[T, ...]:
    return one_or_more if isinstance(one_or_more, tuple) else (one_or_more,)


def _with_now(step: TransitionFunction) -> TransitionFunction:
    if len(inspect.signature(step).parameters) > 2:
        return step
    return lambda state, event, _now: step(state, event)


class Machine:
    """The table of one entity, held against its declared lifecycle when it is built.

    Raises TypeError if a row is there twice, leads where the lifecycle has no way, or a way has no row.
    """

    def __init__(self, lifecycle: Lifecycle, rows: Iterable[TransitionRow]) -> None:
        self.lifecycle = lifecycle
        self.table: dict[tuple[type, type], TransitionFunction] = {}
        ways: set[tuple[type | None, type]] = set()
        for row in rows:
            for state in row.states:
                self._add(state, row)
                # A row for several states names them all among its returns: each stays what it is.
                onward = row.leads_to.difference(row.states)
                ways |= {(None if state is type(None) else state, target) for target in onward}
        self._check(ways)

    def _add(self, state: StateClass, row: TransitionRow) -> None:
        for event in row.events:
            if (state, event) in self.table:
                raise TypeError(f"{self.lifecycle.domain}: two rows for {state.__name__} on {event.__name__}")
            self.table[state, event] = row.step

    def _check(self, ways: set[tuple[type | None, type]]) -> None:
        # A return annotation that is a base of the state says the same.
        taken = {(a, b) for a, b in ways if b is not type(None) and not (a and issubclass(a, b))}
        declared = {(a, b) for a, after in self.lifecycle.leads_to.items() for b in after}
        for title, wrong in (("undeclared", taken - declared), ("without a row", declared - taken)):
            if wrong:
                names = sorted(f"{a.__name__ if a else None} -> {b.__name__}" for a, b in wrong)
                raise TypeError(f"{self.lifecycle.domain}: ways {title}: {', '.join(names)}")

    def decide(self, state: State | None, event: Event, now: datetime) -> State | None:
        """What is true after `event`: the very same `state` if it is late, foreign or a repeat."""
        step = self.table.get((type(state), type(event)))
        return state if step is None else step(state, event, now)


def machine(lifecycle: Lifecycle, *rows: TransitionRow) -> Machine:
    """Build the table of one entity."""
    return Machine(lifecycle, rows)


Todo = Callable[[State], tuple[Command, ...]]


def asks(table: dict[type[State], Callable[[Any], tuple[Command | None, ...]]]) -> Todo:
    """The commands of each state; a state without a row has none, and None among them is ignored."""

    def todo(state: State) -> tuple[Command, ...]:
        line = table.get(type(state))
        return tuple(command for command in line(state) if command is not None) if line else ()

    return todo
