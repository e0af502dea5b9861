"""What the inventory sees: the nodes and accelerators of every cluster, and what the market offers."""

from datetime import datetime

import msgspec

from schemas.registry import level

OWNER = "inventory"


class Offer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A kind of machine that can be had, with its price for one machine (USD per hour)."""

    cloud: str
    region: str
    instance: str
    accelerator: str
    accelerators: int
    price: float
    spot_price: float | None = None
    """None: not to be had as spot."""
    zone: str = ""
    cpu: float = 0.0
    memory_gib: float = 0.0


@level("inventory.offers.{cloud}.{region}", owner=OWNER)
class Offers(msgspec.Struct, frozen=True, kw_only=True):
    """Everything one region of a cloud offers."""

    cloud: str
    region: str
    offers: tuple[Offer, ...]


@level("inventory.nodes.{tenant}.{cluster}.{node}", owner=OWNER)
class NodeSeen(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One node of a founded cluster."""

    uid: str
    """The cluster's incarnation."""
    node: str
    ready: bool
    accelerator: str
    accelerators: int
    """Allocatable."""
    present: bool = True


@level("inventory.cluster.{tenant}.{cluster}", owner=OWNER)
class ClusterSeen(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a founded cluster has and uses, all nodes together."""

    cluster: str
    uid: str
    nodes: int = 0
    """Ready ones."""
    accelerators: int = 0
    """Allocatable on ready nodes."""
    allocated: int = 0
    """Held by pods that have not finished."""
    pods: int = 0
    """How many of those pods there are."""
    finished: int = 0
    """Pods that held accelerators, and have finished."""
    idle_since: datetime | None = None
    """When the last accelerator was let go (or the first could have been taken); None while one is held."""
    known: bool = True
    """False: the cluster's API cannot be heard, the rest is what was last seen."""
