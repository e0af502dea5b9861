"""The base of every entity's state: incarnation, revision and time."""

from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar

from schemas.wire import WireStruct

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
