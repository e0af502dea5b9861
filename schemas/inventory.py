"""What the inventory sees: the nodes and accelerators of every cluster, and what the market offers."""

from datetime import datetime
from typing import Literal

import msgspec

from schemas.registry import level
from schemas.wire import WireStruct

OWNER = "inventory"


class Offer(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
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
    limit: int | None = None
    """How many nodes of it there are to be had, all clusters together; None: as many as one likes."""
    disk_gib: float | None = None
    """None: its disk is made as large as is asked for."""
    country: str = ""
    """Where it stands (ISO 3166-1 alpha-2); empty: where its region is."""


@level("inventory.offers.{cloud}.{region}", owner=OWNER)
class Offers(WireStruct, frozen=True, kw_only=True):
    """Everything one region of a cloud offers."""

    cloud: str
    region: str
    offers: tuple[Offer, ...]
    """None: it has none any more."""
    control_plane_per_hour: float = 0.0
    """USD of each cluster's control plane there, whatever it runs on."""
    as_of: datetime | None = None
    """How old the prices are: when the catalog's file was written, or first read so."""


class Amount(WireStruct, frozen=True, kw_only=True):
    """How much of one resource there is, in thousandths of its unit (cores, bytes, pieces).

    0 ≤ allocated, available ≤ allocatable always; where the raw numbers say otherwise, a `Trouble` tells them.
    """

    allocatable: int = 0
    allocated: int = 0
    available: int = 0


class ModelAmount(Amount, frozen=True, kw_only=True):
    """The same of one accelerator model, on all ready nodes that have it."""

    nodes: int = 0


REFUSED = "Refused"
"""The reason of the trouble that a cluster answers, and does not let us in."""
UNREADABLE = "Unreadable"
"""The reason of the trouble that something a cluster says cannot be read, or all of it."""


class Trouble(WireStruct, frozen=True, kw_only=True):
    """One thing that is not as it should be; what can be trusted is served all the same."""

    reason: str
    """CamelCase, for programs."""
    message: str
    """One sentence, for people."""
    raw: dict[str, int] = msgspec.field(default_factory=dict)
    """The numbers as they were read, by where."""


class Device(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """One accelerator, or one part of a partitioned one."""

    id: str
    """Its UUID or its name in its pool; a place in the row where no source tells them apart."""
    model: str
    """Canonical; ``vendor:device`` if it is not known."""
    source: str
    """What told of it: dra, gfd, amd, pci or allocatable."""
    product: str = ""
    """What the source calls it."""
    memory_mib: int = 0
    mig: str = ""
    """MIG profile, e.g. ``1g.10gb``."""
    partition: str = ""
    """AMD's partition mode, e.g. ``cpx_nps4``."""
    shares: int = 1
    """How many pods may have it at once."""
    sharing: str = ""
    """How: time-slicing or mps."""
    driver: str = ""
    health: Literal["healthy", "unhealthy", "unknown"] = "unknown"
    numa: int | None = None
    pci: str = ""
    parent: str = ""
    """UUID of the device it is a part of."""
    allocated_to: tuple[str, ...] = ()
    """``namespace/name`` of the pods that hold it, where that can be known."""


class Level(WireStruct, frozen=True, kw_only=True):
    """What every level of the inventory says about itself."""

    schema_version: int = 1
    source: str = ""
    """What was read, e.g. ``kubernetes/acme/train-gpu``."""
    observed_at: datetime | None = None
    """When it came to be so; reading the same again is not said again."""
    revision: int = 0
    """One more each time anything about it differs."""
    freshness: Literal["known", "stale", "gone"] = "known"
    """Stale: its API cannot be heard, the rest is what was last seen. Gone: a complete list is without it."""
    fresh_since: datetime | None = None
    """Since when it is so fresh, or not."""
    degraded: tuple[Trouble, ...] = ()


@level("inventory.nodes.{tenant}.{cluster}.{node}", owner=OWNER)
class NodeSeen(Level, frozen=True, kw_only=True):
    """One node of a founded cluster."""

    uid: str
    """The cluster's incarnation."""
    node: str
    ready: bool
    accelerator: str
    accelerators: int
    """Allocatable devices; one that pods share, or that is partitioned, counts once."""
    by_model: dict[str, int] = msgspec.field(default_factory=dict)
    """The same by model; empty: not said."""
    control_plane: bool = False
    """It runs the cluster itself, not workloads."""
    pool: str = ""
    """The pool it is of, as its labels say; empty: they do not."""
    present: bool = True
    schedulable: bool = True
    """It is not cordoned."""
    pods: int = 0
    """How many there are on it that have not finished."""
    takers: int = 0
    """How many of them hold accelerators."""
    resources: dict[str, Amount] = msgspec.field(default_factory=dict)
    """By name: cpu, memory, ephemeral-storage, pods, and each accelerator's."""
    models: dict[str, Amount] = msgspec.field(default_factory=dict)
    """What pods can have of them, by model (and MIG profile)."""
    devices: tuple[Device, ...] = ()


class Demand(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """Pods that are alike in what they ask for, and found no node for it."""

    accelerators: int
    """That each of them asks for."""
    pods: int
    model: str = ""
    """Canonical, as their node selector says; empty: any will do."""
    pools: tuple[str, ...] | None = None
    """With nodes that they could use if those were free; an empty name: of nodes that do not tell theirs. None: any."""


class PoolSeen(WireStruct, frozen=True, kw_only=True):
    """What the nodes of one pool come to."""

    nodes: int = 0
    """Ready ones."""
    accelerators: int = 0
    """Allocatable on them; one that pods share, or that is partitioned, counts once."""
    by_model: dict[str, int] = msgspec.field(default_factory=dict)
    """The same by model; what is not told so may be of any."""
    pods: int = 0
    """How many pods hold accelerators there, on nodes that are not ready too."""
    used: int = 0
    """How many nodes those are on."""
    idle_since: datetime | None = None
    """When the last of them was let go; None while one is held or waited for, or may be, or none is there."""


@level("inventory.cluster.{tenant}.{cluster}", owner=OWNER)
class ClusterSeen(Level, frozen=True, kw_only=True):
    """What a founded cluster has and uses, all nodes together."""

    cluster: str
    uid: str
    attempt: int = 0
    """Which attempt's cluster it is; 0: not said."""
    nodes: int = 0
    """Ready ones, those of the control plane aside."""
    accelerators: int = 0
    """Allocatable on ready nodes; one that pods share, or that is partitioned, counts once."""
    by_model: dict[str, int] = msgspec.field(default_factory=dict)
    """The same by model; what is not told so may be of any."""
    allocated: int = 0
    """Held on ready nodes, wholly or in part, by pods that have not finished."""
    pods: int = 0
    """How many pods hold accelerators or wait for them."""
    finished: int = 0
    """Pods that held accelerators, and have finished."""
    idle_since: datetime | None = None
    """When the last accelerator was let go (or the first could be taken); None while one is held, or none is there."""
    known: bool = True
    """False: the cluster's API cannot be heard, the rest is what was last seen."""
    resources: dict[str, Amount] = msgspec.field(default_factory=dict)
    """Of all ready nodes together, by name."""
    models: dict[str, ModelAmount] = msgspec.field(default_factory=dict)
    """What pods can have of them on all ready nodes, by model (and MIG profile)."""
    used: dict[str, int] = msgspec.field(default_factory=dict)
    """Ready nodes on which accelerators are held, by model."""
    demand: tuple[Demand, ...] = ()
    """Pods that wait for accelerators, the largest first."""
    pools: dict[str, PoolSeen] = msgspec.field(default_factory=dict)
    """By name; nodes that do not say which pool they are of are counted above alone."""

    @property
    def unreadable(self) -> str:
        """Why nothing that it says can be read now; empty where only some of its objects cannot be."""
        return next((each.message for each in self.degraded if each.reason == UNREADABLE and not self.known), "")

    @property
    def refusal(self) -> str:
        """Why the cluster does not let us in; empty while it does, or is only not heard."""
        return next((each.message for each in self.degraded if each.reason == REFUSED and not self.known), "")


@level("inventory.storage.{tenant}.{cluster}.{storage_class}", owner=OWNER)
class StorageSeen(Level, frozen=True, kw_only=True):
    """One storage class of a cluster; sizes are bytes."""

    uid: str
    """The cluster's incarnation."""
    storage_class: str
    provisioner: str
    default: bool = False
    present: bool = True
    volumes: int = 0
    allocated: int = 0
    """Capacity of the class's volumes."""
    available: int | None = None
    """What its driver says can still be had, everywhere together; None: it says nothing."""
    largest: int | None = None
    """The largest single volume that can still be had."""
