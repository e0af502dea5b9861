"""What is said between provisioning and a back end while a cluster's pools get another size."""

import msgspec

from schemas.cluster import Attempt, Lot
from schemas.wish import Wish


class Resize(msgspec.Struct, frozen=True):
    """Asks that an attempt's objects say how many nodes its lots have; makes none that are not there."""

    wish: Wish
    attempt: Attempt
    uid: str
    grows: bool
    """Some pool gets more machines than it had."""


class Resized(msgspec.Struct, frozen=True):
    """The back end has taken these lots' numbers of nodes."""

    attempt: int
    lots: tuple[Lot, ...]


class ResizeRefused(msgspec.Struct, frozen=True):
    """The back end, or the market, will not have these lots."""

    attempt: int
    lots: tuple[Lot, ...]
    message: str
    reason: str = "Denied"
    """CamelCase, for programs."""
