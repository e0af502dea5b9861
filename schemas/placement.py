"""Placements: the machines bought for a cluster's pools, and the attempts to launch on them."""

from collections.abc import Iterable
from datetime import datetime
from typing import Protocol

from schemas.entity import EPOCH
from schemas.registry import WireStruct
from schemas.wish import own_name


class NodeGroup(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """Bounds and node size of a pool that an autoscaler scales."""

    least: int
    """Nodes."""
    most: int
    """Nodes."""
    cpu: float = 0.0
    """vCPUs of a node; 0: unknown."""
    memory_gib: float = 0.0
    """Memory of a node (GiB); 0: unknown."""


class Lot(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """The machines bought for one pool: all of one kind, in one place."""

    pool: str
    instance: str
    zone: str
    accelerator: str
    accelerators_per_node: int
    nodes: int
    price_per_hour: float
    """USD, one node."""
    spot: bool
    extra: int = 0
    """Further nodes that somebody else added: they cost money, but alate did not request them."""
    group: NodeGroup | None = None
    """None: it has the requested nodes; otherwise an autoscaler sets them, and `nodes` is the last count."""

    @property
    def least(self) -> int:
        """The fewest nodes that are enough."""
        return self.group.least if self.group else self.nodes

    @property
    def most(self) -> int:
        """The most nodes that an autoscaler may scale it to."""
        return max(self.nodes, self.group.most) if self.group else self.nodes


class Paid(Protocol):
    """The fields of a lot that its price depends on; see `Lot`."""

    @property
    def price_per_hour(self) -> float: ...
    @property
    def nodes(self) -> int: ...
    @property
    def extra(self) -> int: ...


def price(lots: Iterable[Paid], control_plane_per_hour: float) -> float:
    """USD per hour of a whole cluster: all its nodes, requested or not, and its control plane."""
    return round(sum([lot.price_per_hour * (lot.nodes + lot.extra) for lot in lots], control_plane_per_hour), 6)


class Placement(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a cluster runs: one cloud, one region, one lot per pool."""

    cloud: str
    region: str
    lots: tuple[Lot, ...]
    control_plane_per_hour: float = 0.0
    """USD per hour; it is paid as long as the cluster exists, also while it hibernates."""

    @property
    def nodes(self) -> int:
        """Nodes of all lots."""
        return sum(lot.nodes for lot in self.lots)

    @property
    def accelerators(self) -> int:
        """Accelerators of all lots."""
        return sum(lot.nodes * lot.accelerators_per_node for lot in self.lots)

    @property
    def price_per_hour(self) -> float:
        """USD per hour, the whole cluster."""
        return price(self.lots, self.control_plane_per_hour)

    @property
    def most_per_hour(self) -> float:
        """USD per hour, the whole cluster at the largest size that an autoscaler may reach."""
        return round(sum([lot.price_per_hour * lot.most for lot in self.lots], self.control_plane_per_hour), 6)


class Attempt(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """One try to launch the cluster on one placement; the number, from 1, is part of its objects' names."""

    number: int
    placement: Placement
    reason: str = ""
    """Why it failed; empty while it has not."""
    message: str = ""
    failed_at: datetime = EPOCH
    """When the failure was known."""
    backend: str = ""
    """The back end that has its objects; empty: the one that the wish names."""
    adopts: str = ""
    """The existing object that is adopted; empty: alate creates one."""

    def object_name(self, cluster: str) -> str:
        """The name of the back end's object, and the stem of its kubeconfig Secret."""
        return self.adopts or own_name(cluster, self.number)


class Ranked(WireStruct, frozen=True):
    """Answer: the placements that satisfy the need, best first; if none, why."""

    placements: tuple[Placement, ...]
    reason: str = ""
    message: str = ""
    adopts: str = ""
    """The existing object that was looked at instead of the market; empty: none."""
