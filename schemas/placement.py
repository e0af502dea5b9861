"""Where a cluster goes: what is offered, what is bought, what is tried."""

from collections.abc import Iterable
from datetime import datetime
from typing import Protocol

from schemas.entity import EPOCH
from schemas.wire import WireStruct
from schemas.wish import own_name


class NodeGroup(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """What an autoscaler knows of a pool whose size it sets."""

    least: int
    """Nodes."""
    most: int
    """Nodes."""
    cpu: float = 0.0
    """vCPUs of a node; 0: not known."""
    memory_gib: float = 0.0
    """Of a node (GiB); 0: not known."""


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
    """Nodes beside these that somebody else added: they are paid, and nobody here asked for them."""
    group: NodeGroup | None = None
    """None: it has the nodes that are asked of its back end; else so many as were counted last."""

    @property
    def least(self) -> int:
        """So many nodes are enough."""
        return self.group.least if self.group else self.nodes

    @property
    def most(self) -> int:
        """So many nodes it may come to without anyone asking us."""
        return max(self.nodes, self.group.most) if self.group else self.nodes


class Paid(Protocol):
    """What of a lot its price is made of; see `Lot`."""

    @property
    def price_per_hour(self) -> float: ...
    @property
    def nodes(self) -> int: ...
    @property
    def extra(self) -> int: ...


def price(lots: Iterable[Paid], control_plane_per_hour: float) -> float:
    """USD per hour of a whole cluster: all its nodes, whoever asked for them, and its control plane."""
    return round(sum([lot.price_per_hour * (lot.nodes + lot.extra) for lot in lots], control_plane_per_hour), 6)


class Placement(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a cluster goes: one cloud, one region, one lot a pool."""

    cloud: str
    region: str
    lots: tuple[Lot, ...]
    control_plane_per_hour: float = 0.0
    """USD: it is paid as long as the cluster stands, while it hibernates, too."""

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
        """USD, the whole cluster."""
        return price(self.lots, self.control_plane_per_hour)

    @property
    def most_per_hour(self) -> float:
        """USD, the whole cluster at the largest size it may come to without anyone asking us."""
        return round(sum([lot.price_per_hour * lot.most for lot in self.lots], self.control_plane_per_hour), 6)


class Attempt(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """One try to found the cluster on one placement; numbered from 1, so that its objects have names of their own."""

    number: int
    placement: Placement
    reason: str = ""
    """Why it came to nothing; empty while it may come to something."""
    message: str = ""
    failed_at: datetime = EPOCH
    """When that was known."""
    backend: str = ""
    """Which back end has its objects; empty: the one that its wish names."""
    adopts: str = ""
    """The object that others made, and that is taken in; empty: one is made, under a name of its own."""

    def object_name(self, cluster: str) -> str:
        """The name of the back end's object, and the stem of its kubeconfig Secret."""
        return self.adopts or own_name(cluster, self.number)


class Ranked(WireStruct, frozen=True):
    """What the market offers now: the placements that satisfy the need, best first; why none, if none."""

    placements: tuple[Placement, ...]
    reason: str = ""
    message: str = ""
    adopts: str = ""
    """What others made, where that was looked at instead of the market."""
