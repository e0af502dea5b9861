"""Levels of the inventory: nodes, accelerators and storage of every cluster, and the market's offers."""

from datetime import datetime
from typing import Literal

import msgspec

from schemas.registry import WireStruct, level

OWNER = "inventory"


class Offer(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """A machine type that is offered, with the price of one machine (USD per hour)."""

    cloud: str
    region: str
    instance: str
    accelerator: str
    accelerators: int
    price: float
    spot_price: float | None = None
    """None: not offered as spot."""
    zone: str = ""
    cpu: float = 0.0
    memory_gib: float = 0.0
    limit: int | None = None
    """How many nodes of it are available, all clusters together; None: unlimited."""
    disk_gib: float | None = None
    """None: its disk is created as large as requested."""
    country: str = ""
    """Its country (ISO 3166-1 alpha-2); empty: the country of its region."""


@level("inventory.offers.{cloud}.{region}", owner=OWNER)
class Offers(WireStruct, frozen=True, kw_only=True):
    """Everything that one region of a cloud offers."""

    cloud: str
    region: str
    offers: tuple[Offer, ...]
    """Empty: it offers nothing any more."""
    control_plane_per_hour: float = 0.0
    """USD per hour of each cluster's control plane there, whatever it runs on."""
    as_of: datetime | None = None
    """Time of the prices: when the catalog's file was written, or first read with this content."""


class Amount(WireStruct, frozen=True, kw_only=True):
    """An amount of one resource, in thousandths of its unit (cores, bytes, pieces).

    0 ≤ allocated, available ≤ allocatable always; where the raw numbers say otherwise, a `Trouble` tells them.
    """

    allocatable: int = 0
    allocated: int = 0
    available: int = 0


class ModelAmount(Amount, frozen=True, kw_only=True):
    """An amount of one accelerator model, on all ready nodes that have it."""

    nodes: int = 0


REFUSED = "Refused"
"""Reason of the trouble that a cluster answers, but refuses access."""
UNREADABLE = "Unreadable"
"""Reason of the trouble that some or all answers of a cluster cannot be read."""


class Trouble(WireStruct, frozen=True, kw_only=True):
    """One problem with the data; what can be trusted is served all the same."""

    reason: str
    """CamelCase, for programs."""
    message: str
    """One sentence, for people."""
    raw: dict[str, int] = msgspec.field(default_factory=dict)
    """The numbers as they were read, by source."""


class Device(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """One accelerator, or one partition of an accelerator."""

    id: str
    """Its UUID or its name in its pool; an index if no source tells devices apart."""
    model: str
    """Canonical name; ``vendor:device`` if unknown."""
    source: str
    """Source of the data: dra, gfd, amd, pci or allocatable."""
    product: str = ""
    """Its name at the source."""
    memory_mib: int = 0
    mig: str = ""
    """MIG profile, e.g. ``1g.10gb``."""
    partition: str = ""
    """AMD's partition mode, e.g. ``cpx_nps4``."""
    shares: int = 1
    """How many pods can use it at once."""
    sharing: str = ""
    """How it is shared: time-slicing or mps."""
    driver: str = ""
    health: Literal["healthy", "unhealthy", "unknown"] = "unknown"
    numa: int | None = None
    pci: str = ""
    parent: str = ""
    """UUID of the device that it is a partition of."""
    allocated_to: tuple[str, ...] = ()
    """``namespace/name`` of the pods that hold it, if that can be known."""


class Level(WireStruct, frozen=True, kw_only=True):
    """Fields that every level of the inventory has."""

    schema_version: int = 1
    source: str = ""
    """What was read, such as ``kubernetes/acme/train-gpu``."""
    observed_at: datetime | None = None
    """When the content changed last; the same content is not published again."""
    revision: int = 0
    """One more with each change."""
    freshness: Literal["known", "stale", "gone"] = "known"
    """Stale: its API is unreachable, the rest is what was last seen. Gone: a complete list is without it."""
    fresh_since: datetime | None = None
    """Since when its freshness is this."""
    degraded: tuple[Trouble, ...] = ()


@level("inventory.nodes.{tenant}.{cluster}.{node}", owner=OWNER)
class NodeSeen(Level, frozen=True, kw_only=True):
    """One node of a workload cluster."""

    uid: str
    """The cluster's incarnation."""
    node: str
    ready: bool
    accelerator: str
    accelerators: int
    """Allocatable devices; a shared or partitioned device counts once."""
    by_model: dict[str, int] = msgspec.field(default_factory=dict)
    """The same by model; empty: unknown."""
    control_plane: bool = False
    """It is a control-plane node."""
    pool: str = ""
    """Its pool, from its labels; empty: unknown."""
    present: bool = True
    schedulable: bool = True
    """It is not cordoned."""
    pods: int = 0
    """Number of its pods that have not finished."""
    takers: int = 0
    """Number of its pods that hold accelerators."""
    resources: dict[str, Amount] = msgspec.field(default_factory=dict)
    """Amounts by resource name: cpu, memory, ephemeral-storage, pods, and each accelerator's."""
    models: dict[str, Amount] = msgspec.field(default_factory=dict)
    """What pods can allocate, by model (and MIG profile)."""
    devices: tuple[Device, ...] = ()


class Demand(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """Unschedulable pods with the same request."""

    accelerators: int
    """Accelerators that each pod requests."""
    pods: int
    model: str = ""
    """Canonical model from their node selector; empty: any."""
    pools: tuple[str, ...] | None = None
    """Pools whose nodes they could use if free; an empty name: nodes without a known pool; None: any."""


class PoolSeen(WireStruct, frozen=True, kw_only=True):
    """Totals of the nodes of one pool."""

    nodes: int = 0
    """Ready nodes."""
    accelerators: int = 0
    """Allocatable devices on them; a shared or partitioned device counts once."""
    by_model: dict[str, int] = msgspec.field(default_factory=dict)
    """The same by model; devices of unknown model are left out."""
    pods: int = 0
    """Pods that hold accelerators there, on nodes that are not ready too."""
    used: int = 0
    """Nodes on which those pods are."""
    idle_since: datetime | None = None
    """Since when no accelerator is held; None while one is or may be held or waited for, or none exists."""


@level("inventory.cluster.{tenant}.{cluster}", owner=OWNER)
class ClusterSeen(Level, frozen=True, kw_only=True):
    """What a workload cluster has and uses, all nodes together."""

    cluster: str
    uid: str
    attempt: int = 0
    """The attempt that created the cluster; 0: unknown."""
    nodes: int = 0
    """Ready nodes without control-plane nodes."""
    accelerators: int = 0
    """Allocatable devices on ready nodes; a shared or partitioned device counts once."""
    by_model: dict[str, int] = msgspec.field(default_factory=dict)
    """The same by model; devices of unknown model are left out."""
    allocated: int = 0
    """Devices on ready nodes that unfinished pods hold, wholly or in part."""
    pods: int = 0
    """Number of pods that hold accelerators or wait for them."""
    finished: int = 0
    """Number of finished pods that held accelerators."""
    idle_since: datetime | None = None
    """Since when no accelerator is held; None while one is held, or none exists."""
    known: bool = True
    """False: the cluster's API is unreachable, the rest is what was last seen."""
    resources: dict[str, Amount] = msgspec.field(default_factory=dict)
    """Amounts of all ready nodes together, by resource name."""
    models: dict[str, ModelAmount] = msgspec.field(default_factory=dict)
    """What pods can allocate on all ready nodes, by model (and MIG profile)."""
    used: dict[str, int] = msgspec.field(default_factory=dict)
    """Number of ready nodes on which accelerators are held, by model."""
    demand: tuple[Demand, ...] = ()
    """Unschedulable pods, the largest requests first."""
    pools: dict[str, PoolSeen] = msgspec.field(default_factory=dict)
    """Totals by pool; nodes of unknown pool count only in the totals above."""

    @property
    def unreadable(self) -> str:
        """Why none of its answers can be read; empty if only some of its objects cannot be read."""
        return next((each.message for each in self.degraded if each.reason == UNREADABLE and not self.known), "")

    @property
    def refusal(self) -> str:
        """Why the cluster refuses access; empty if it does not, or is only unreachable."""
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
    """Bytes still available according to its driver, all topologies together; None: unknown."""
    largest: int | None = None
    """Bytes of the largest volume that can still be created; None: unknown."""
