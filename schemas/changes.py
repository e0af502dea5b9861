"""Commands and answers for changes of a running cluster: its size, its pools, its Kubernetes version."""

from schemas.placement import Attempt, Lot, Placement
from schemas.registry import WireStruct
from schemas.wish import Need, Wish


class Resize(WireStruct, frozen=True):
    """Command: ensure that an attempt's objects have these pools and numbers of nodes."""

    wish: Wish
    attempt: Attempt
    uid: str
    grows: bool
    """Some pool gets more nodes than it had."""


class Resized(WireStruct, frozen=True):
    """Answer: the back end has accepted these lots' numbers of nodes."""

    attempt: int
    lots: tuple[Lot, ...]


class ResizeRefused(WireStruct, frozen=True):
    """Answer: the back end or the market refuses these lots."""

    attempt: int
    lots: tuple[Lot, ...]
    message: str
    reason: str = "Denied"
    """CamelCase, for programs."""


class PricePool(WireStruct, frozen=True):
    """Command: find a lot for each pool that has none, in the cloud and region of the others."""

    wish: Wish
    """With all pools that the cluster should have."""
    attempt: int
    beside: Placement
    """The placement of the pools that exist."""
    steady: bool
    """As of `Rank`."""


class PoolPriced(WireStruct, frozen=True):
    """Answer: the lots that the market offers for the new pools."""

    attempt: int
    need: Need
    """The need that they were requested for."""
    lots: tuple[Lot, ...]


class PoolUnavailable(WireStruct, frozen=True):
    """Answer: the market or the back end has nothing for the new pools."""

    attempt: int
    need: Need
    """The need that they were requested for."""
    message: str


class Upgrade(WireStruct, frozen=True):
    """Command: ensure that an attempt's machines run a Kubernetes version, control plane first."""

    wish: Wish
    """With the version that it should run."""
    attempt: Attempt
    uid: str
    told: str
    """The progress that was reported last."""


class Rolling(WireStruct, frozen=True):
    """Answer: the back end has accepted the version and is rolling it out."""

    attempt: int
    version: str
    message: str
    """The progress, for people."""


class Upgraded(WireStruct, frozen=True):
    """Answer: the control plane and every worker run the version."""

    attempt: int
    version: str


class UpgradeRefused(WireStruct, frozen=True):
    """Answer: the back end refuses the version."""

    attempt: int
    version: str
    message: str
