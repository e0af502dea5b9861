"""What is said between provisioning, the market, and a back end while a cluster gets another size."""

from schemas.placement import Attempt, Lot, Placement
from schemas.wire import WireStruct
from schemas.wish import Need, Wish


class Resize(WireStruct, frozen=True):
    """Asks that an attempt's objects say which pools its lots are, and how many nodes they have."""

    wish: Wish
    attempt: Attempt
    uid: str
    grows: bool
    """Some pool gets more machines than it had."""


class Resized(WireStruct, frozen=True):
    """The back end has taken these lots' numbers of nodes."""

    attempt: int
    lots: tuple[Lot, ...]


class ResizeRefused(WireStruct, frozen=True):
    """The back end, or the market, will not have these lots."""

    attempt: int
    lots: tuple[Lot, ...]
    message: str
    reason: str = "Denied"
    """CamelCase, for programs."""


class PricePool(WireStruct, frozen=True):
    """Asks the market for a lot for each pool that has none, in the cloud and the region of all others."""

    wish: Wish
    """With all pools it is to have."""
    attempt: int
    beside: Placement
    """What it will have of the pools that are there."""
    steady: bool
    """As of `Rank`."""


class PoolPriced(WireStruct, frozen=True):
    """What the market offers for the pools that had no lot."""

    attempt: int
    need: Need
    """What they were asked for."""
    lots: tuple[Lot, ...]


class PoolUnavailable(WireStruct, frozen=True):
    """The market, or the back end, has nothing for the pools that have no lot."""

    attempt: int
    need: Need
    """What they were asked for."""
    message: str
