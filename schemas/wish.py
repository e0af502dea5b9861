"""The wish: what a Colony asks of one cluster, as the gateway publishes it."""

from datetime import datetime
from enum import StrEnum
from hashlib import sha256

from schemas.infra import Remains
from schemas.registry import WireStruct, level


class Limits(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """When the cluster is deleted by itself (None: never), and how long its teardown may take; in seconds."""

    time_to_live_seconds: float | None = None
    """Counted from the first time the cluster is ready."""
    idle_after_seconds: float | None = None
    """Counted from when its last accelerator was released, or from ready if none was used."""
    warn_before_seconds: float = 300.0
    drain_timeout_seconds: float = 300.0
    """How long its workloads may take to end before its machines are released all the same."""
    clean_timeout_seconds: float = 300.0
    """How long deleting its add-ons, load balancers and volumes may take."""


class Spot(StrEnum):
    """Whether interruptible (spot) machines may be used."""

    NEVER = "never"
    PREFERRED = "preferred"
    ONLY = "only"


class ScaledBy(StrEnum):
    """Who sets the number of nodes of a pool between its bounds, once the cluster runs."""

    ALATE = "Alate"
    CLUSTER_AUTOSCALER = "ClusterAutoscaler"


class OnRelease(StrEnum):
    """What happens to an adopted cluster once it is no longer asked for."""

    KEEP = "keep"
    DELETE = "delete"


class Adopt(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """An existing cluster that is adopted instead of creating one."""

    name: str
    """The back end's object, in the tenant's namespace."""
    on_release: OnRelease = OnRelease.KEEP
    node_price_per_hour: float | None = None
    """USD per hour of one node; None: the market's price of such a machine."""


class PoolTaint(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """A taint of a node: keeps away pods that do not tolerate it."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"
    """Kubernetes' effect, such as NoSchedule."""


class Pool(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """Nodes of one kind."""

    name: str
    accelerator: str
    """Canonical name, e.g. ``H100``."""
    accelerators_per_node: int
    nodes: int
    """The number of nodes at first."""
    min_nodes: int = 0
    """The fewest nodes, left when idle; 0: as many as `nodes`."""
    max_nodes: int = 0
    """The most nodes, when pods wait; 0: as many as `nodes`."""
    spot: Spot = Spot.PREFERRED
    cpu: int = 0
    """At least so many vCPUs per node."""
    memory_gib: int = 0
    """At least so much memory per node (GiB)."""
    pod_cpu: float = 0.0
    """At least so many cores of each node for pods, after the system and its daemons."""
    pod_memory_gib: float = 0.0
    """At least so much memory of each node for pods (GiB)."""
    disk_gib: int = 0
    """At least so much disk per node (GiB)."""
    zones: tuple[str, ...] = ()
    """Empty: any."""
    labels: tuple[tuple[str, str], ...] = ()
    """Labels of its nodes from the start: keys and values."""
    taints: tuple[PoolTaint, ...] = ()
    """Taints of its nodes from the start."""

    @property
    def least(self) -> int:
        """The fewest nodes it may have."""
        return self.min_nodes or self.nodes

    @property
    def most(self) -> int:
        """The most nodes it may have."""
        return self.max_nodes or self.nodes

    @property
    def elastic(self) -> bool:
        """Its size follows what its pods request."""
        return self.least < self.most


class ClusterNetwork(WireStruct, frozen=True, kw_only=True):
    """Address ranges (CIDR), one for each IP family of the cluster."""

    pods: tuple[str, ...]
    services: tuple[str, ...]


class Need(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """What the cluster consists of, and where it may run."""

    pools: tuple[Pool, ...]
    clouds: tuple[str, ...] = ()
    """Empty: any."""
    regions: tuple[str, ...] = ()
    """Empty: any."""
    residency: tuple[str, ...] = ()
    """Countries (ISO 3166-1 alpha-2) or jurisdictions (EU, EEA) it must stay in; empty: any."""
    max_price_per_hour: float | None = None
    """USD per hour for the whole cluster."""
    kubernetes_version: str = "v1.34.0"
    backend: str = "k0rdent"
    template: str = ""
    hibernate: bool = False
    """It has no machines as long as this is true."""
    adopt: Adopt | None = None
    """None: alate creates the cluster."""
    network: ClusterNetwork | None = None
    """None: the ranges of its template."""
    scaled_by: ScaledBy = ScaledBy.ALATE

    @property
    def autoscaled(self) -> bool:
        """Its pools begin with `nodes`, the fewest they may have; from then on an autoscaler sets their size."""
        return self.scaled_by is ScaledBy.CLUSTER_AUTOSCALER

    @property
    def adopts(self) -> str:
        """The existing object that should be adopted; empty: alate creates one."""
        return self.adopt.name if self.adopt is not None else ""

    @property
    def kept(self) -> bool:
        """The adopted cluster is kept when it is no longer asked for."""
        return self.adopt is not None and self.adopt.on_release is OnRelease.KEEP

    @property
    def nodes(self) -> int:
        """Nodes of all pools; none while it hibernates."""
        return 0 if self.hibernate else sum(pool.nodes for pool in self.pools)

    @property
    def accelerators(self) -> int:
        """Accelerators of all pools; none while it hibernates."""
        return 0 if self.hibernate else sum(pool.nodes * pool.accelerators_per_node for pool in self.pools)


class AddonRef(WireStruct, frozen=True, omit_defaults=True):
    """An add-on by name and by the digest of its description, which stays in the Colony."""

    name: str
    digest: str
    after: tuple[str, ...] = ()
    """The add-ons of the cluster that must be applied first; see `schemas.addon.full_name`."""
    required: bool = True
    """The cluster is not ready without it."""
    timeout_seconds: float = 600.0
    """How long it may take to become healthy before it is degraded."""
    sources: str = ""
    """Digest of what its sources hold in the rollout of its profile; empty: whatever they hold."""
    once: bool = False
    """Once it is applied, changes of its description are ignored."""


def digest(text: str) -> str:
    """The digest of an add-on's manifests."""
    return sha256(text.encode()).hexdigest()[:16]


@level("observed.wish.{tenant}.{cluster}", owner="gateway")
class Wish(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """What a Colony asks of one cluster now, or that it no longer asks for it."""

    tenant: str
    colony: str
    cluster: str
    """Its name within the Colony."""
    uid: str
    """The Colony's."""
    generation: int
    deleting: bool = False
    force: bool = False
    """Its teardown waits for nothing in the cluster: neither for workloads nor for clean-up."""
    need: Need
    limits: Limits = Limits()
    addons: tuple[AddonRef, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    """The cluster's labels: keys and values."""
    annotations: tuple[tuple[str, str], ...] = ()
    """The cluster's annotations: keys and values."""
    dropped: tuple[str, ...] = ()
    """Add-ons that the Colony asked for before and no longer asks for."""
    event: str = ""
    """The id of the event that requested it, if any; it is kept when the wish is replaced by the next one."""
    release: str = ""
    """The id of the event that releases it, if any."""
    asked_at: datetime | None = None
    """When it was last requested explicitly: a cluster that ended by its limits before is created again."""
    remains: Remains | None = None
    """What exists of it while it has no history; None: nothing."""
    commit: str = ""
    """The commit whose status shows the cluster's state, as ``<forge>:<repository>@<hash>``; empty: none."""

    @property
    def name(self) -> str:
        """The cluster entity's name: unique within its tenant."""
        return cluster_name(self.colony, self.cluster)

    def newer_than(self, other: "Wish") -> bool:
        """Whether this is a later wish of the same Colony than `other`."""
        # A deletion, and the word that it shall wait for nothing, make no generation of their own.
        mine, theirs = ((wish.generation, wish.deleting, wish.force) for wish in (self, other))
        return self.uid == other.uid and mine > theirs

    def asks_anew(self, over: "Wish") -> bool:
        """Whether this wish asks for a new cluster where the last one has ended or is ending.

        An edit of it buys nothing; that takes the word for it, or one that comes after the word that it shall go.
        """
        if over.deleting:
            return self.newer_than(over) and not self.deleting
        follows = self.uid == over.uid and self.generation >= over.generation and not self.deleting
        return follows and self.asked_at is not None and (over.asked_at is None or self.asked_at > over.asked_at)


def cluster_name(colony: str, cluster: str) -> str:
    """A cluster's name, unique within its tenant, and the prefix of every object created for it."""
    return f"{colony}-{cluster}"


def own_name(cluster: str, number: int) -> str:
    """The name of an object created for an attempt."""
    return f"{cluster}-{number}"
