"""The base of every entity's state, its timer messages, and the lifecycle: which state may follow which."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar

from msgspec import Struct

from schemas.registry import WireStruct, declared

EPOCH = datetime.fromtimestamp(0, UTC)

T = TypeVar("T", bound="State")


class State(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """One entity's complete state; the last one published is the truth."""

    uid: str
    """The incarnation; messages for another one are ignored."""
    revision: int = 0
    """1 for the first state of this incarnation, one more for each transition, without gaps."""
    since: datetime = EPOCH
    """When this revision was decided (UTC)."""
    correlation: str = ""
    """The id of the whole flow it belongs to: the Colony's uid."""

    @property
    def needed(self) -> bool:
        """Whether an ended entity's state is still needed; as long as it is, it is not purged."""
        return False

    def to(self, kind: type[T], **fields: Any) -> T:  # noqa: ANN401 - the fields of `kind`, checked by its constructor
        """The next state: fields that both have are carried over, the rest is given."""
        shared = {name: getattr(self, name) for name in _shared(type(self), kind)}
        return kind(**(shared | fields))


@cache
def _shared(one: type[State], other: type[State]) -> tuple[str, ...]:
    """The fields that both have."""
    return tuple(name for name in other.__struct_fields__ if name in one.__struct_fields__)


class Due(WireStruct, frozen=True):
    """Event: the time of the entity's timer has come."""


class Wake(WireStruct, frozen=True):
    """Command: deliver `Due` at a time, even if processes restart until then."""

    at: datetime


LifecycleState = type[Struct]


@dataclass(frozen=True)
class Lifecycle:
    """The lifecycle of one kind of entity: its states in the order they usually occur."""

    domain: str
    """The first token of its subjects, e.g. ``cluster``."""
    leads_to: Mapping[LifecycleState | None, tuple[LifecycleState, ...]]
    """The states that may follow each state; ``None``: the entity does not exist yet."""
    ends: tuple[LifecycleState, ...] = ()
    """Terminal states; empty: derived from `leads_to`, which finds too many if a life can begin late."""

    @property
    def first(self) -> tuple[LifecycleState, ...]:
        """The states in which an entity can begin."""
        return self.leads_to.get(None, ())

    @property
    def states(self) -> tuple[LifecycleState, ...]:
        """Every state once, in the order of the declaration."""
        followed = (state for following in self.leads_to.values() for state in following)
        return tuple(dict.fromkeys(state for state in (*self.leads_to, *followed) if state))

    @property
    def terminal(self) -> tuple[LifecycleState, ...]:
        """Where it ends: as declared, or else the states that lead nowhere, or only to a new beginning.

        A state that may also turn into such an end is not one, even where that end can be a beginning too.
        """
        if self.ends:
            return self.ends
        ends = {state for state in self.states if self._after(state) <= set(self.first)}
        return tuple(state for state in self.states if state in ends and not self._after(state) & ends)

    def mermaid(self) -> str:
        """The state diagram as Mermaid text, states named by their event; KeyError for one never declared."""
        return "\n".join(("stateDiagram-v2", *(f"    {line}" for line in self._lines()))) + "\n"

    def _after(self, state: LifecycleState) -> set[LifecycleState]:
        return set(self.leads_to.get(state, ())) - {state}

    def _lines(self) -> Iterator[str]:
        for name in map(_name, self.states):
            if name != _id(name):
                yield f'state "{name}" as {_id(name)}'
        for state, following in self.leads_to.items():
            for successor in following:
                yield f"{_place(state)} --> {_place(successor)}"
        for state in self.terminal:
            yield f"{_place(state)} --> [*]"


def _name(state: LifecycleState) -> str:
    return declared(state).event


def _id(name: str) -> str:
    # A hyphen ends an identifier in Mermaid's state diagrams.
    return name.replace("-", "_")


def _place(state: LifecycleState | None) -> str:
    return _id(_name(state)) if state else "[*]"
