"""What every entity's state has in common: whose incarnation it is, and its place in the history."""

from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar

from schemas.wire import WireStruct

EPOCH = datetime.fromtimestamp(0, UTC)

T = TypeVar("T", bound="State")


class State(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """One entity's complete state; the last one published is the truth."""

    uid: str
    """The incarnation: a message for another one is ignored."""
    revision: int = 0
    """1 for the first state of this incarnation, then one more each transition: no gap, no repeat."""
    since: datetime = EPOCH
    """When this revision was decided (UTC)."""
    correlation: str = ""
    """The whole flow it belongs to: the Colony's uid."""

    @property
    def needed(self) -> bool:
        """Whether somebody still goes by it though it is over: as long as that is so it is not forgotten."""
        return False

    def to(self, kind: type[T], **fields: Any) -> T:  # noqa: ANN401 - the fields of `kind`, checked by its constructor
        """The next state: what both have in common is carried over, the rest is given."""
        shared = {name: getattr(self, name) for name in _shared(type(self), kind)}
        return kind(**(shared | fields))


@cache
def _shared(one: type[State], other: type[State]) -> tuple[str, ...]:
    """The fields both have; asked at every transition, and always the same."""
    return tuple(name for name in other.__struct_fields__ if name in one.__struct_fields__)


class Due(WireStruct, frozen=True):
    """The time the entity asked to be woken at has come."""


class Wake(WireStruct, frozen=True):
    """Asks to be told `Due` at a time, whatever dies until then."""

    at: datetime
