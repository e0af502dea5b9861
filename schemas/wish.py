"""What a person or a program wants, one cluster at a time, as the gateway reads it off a Colony."""

from datetime import datetime
from enum import StrEnum
from hashlib import sha256

from schemas.infra import Remains
from schemas.limits import Limits
from schemas.registry import intake, level
from schemas.wire import WireStruct


class Spot(StrEnum):
    """Whether interruptible machines will do."""

    NEVER = "never"
    PREFERRED = "preferred"
    ONLY = "only"


class ScaledBy(StrEnum):
    """Who decides how many nodes a pool has between its bounds, once the cluster runs."""

    ALATE = "Alate"
    CLUSTER_AUTOSCALER = "ClusterAutoscaler"


class OnRelease(StrEnum):
    """What becomes of a cluster that others made, once it is asked for no more."""

    KEEP = "keep"
    DELETE = "delete"


class Adopt(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """A cluster that stands already, and is taken in instead of being founded."""

    name: str
    """The back end's object, in the tenant's namespace."""
    on_release: OnRelease = OnRelease.KEEP
    node_price_per_hour: float | None = None
    """USD, one node; None: what the market asks for such a machine."""


class PoolTaint(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """Keeps pods from a node that do not tolerate it."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"
    """As Kubernetes names it."""


class Pool(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """Nodes of one kind."""

    name: str
    accelerator: str
    """Canonical name, e.g. ``H100``."""
    accelerators_per_node: int
    nodes: int
    """How many it begins with."""
    min_nodes: int = 0
    """So many are left when nothing is used; 0: as many as `nodes`."""
    max_nodes: int = 0
    """So many at most when pods wait; 0: as many as `nodes`."""
    spot: Spot = Spot.PREFERRED
    cpu: int = 0
    """At least so many vCPUs a node."""
    memory_gib: int = 0
    """At least so much memory a node (GiB)."""
    pod_cpu: float = 0.0
    """At least so many cores of each node for pods: what the system and its daemons leave."""
    pod_memory_gib: float = 0.0
    """At least so much memory of each node for pods (GiB)."""
    disk_gib: int = 0
    """At least so much disk a node (GiB)."""
    zones: tuple[str, ...] = ()
    """Empty: any."""
    labels: tuple[tuple[str, str], ...] = ()
    """What its nodes bear from the start: keys and values."""
    taints: tuple[PoolTaint, ...] = ()
    """The same."""

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
        """Its size follows what its pods ask for."""
        return self.least < self.most


class ClusterNetwork(WireStruct, frozen=True, kw_only=True):
    """Ranges of addresses (CIDR), one for each family that the cluster speaks."""

    pods: tuple[str, ...]
    services: tuple[str, ...]


class Need(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """What the cluster is made of, and where it may be."""

    pools: tuple[Pool, ...]
    clouds: tuple[str, ...] = ()
    """Empty: any."""
    regions: tuple[str, ...] = ()
    """Empty: any."""
    residency: tuple[str, ...] = ()
    """Countries (ISO 3166-1 alpha-2) or jurisdictions (EU, EEA) it must stay in; empty: any."""
    max_price_per_hour: float | None = None
    """USD for the whole cluster."""
    kubernetes_version: str = "v1.34.0"
    backend: str = "k0rdent"
    template: str = ""
    hibernate: bool = False
    """It has no machines as long as this is asked for."""
    adopt: Adopt | None = None
    """None: it is founded."""
    network: ClusterNetwork | None = None
    """None: as its template has it."""
    scaled_by: ScaledBy = ScaledBy.ALATE

    @property
    def autoscaled(self) -> bool:
        """Its pools begin with `nodes`, the fewest they may have; from then on an autoscaler sets their size."""
        return self.scaled_by is ScaledBy.CLUSTER_AUTOSCALER

    @property
    def adopts(self) -> str:
        """What others made that shall be taken in; empty: it is founded."""
        return self.adopt.name if self.adopt is not None else ""

    @property
    def kept(self) -> bool:
        """It stays what it was when it is asked for no more: it is others' who go on with it."""
        return self.adopt is not None and self.adopt.on_release is OnRelease.KEEP

    @property
    def nodes(self) -> int:
        """Nodes of all pools; none while it hibernates."""
        return 0 if self.hibernate else sum(pool.nodes for pool in self.pools)

    @property
    def accelerators(self) -> int:
        """Accelerators of all pools; none while it hibernates."""
        return 0 if self.hibernate else sum(pool.nodes * pool.accelerators_per_node for pool in self.pools)


class AddonRef(WireStruct, frozen=True):
    """An add-on by name and by the digest of what it holds; the contents stay in the Colony."""

    name: str
    digest: str


def digest(text: str) -> str:
    """What names an add-on's contents."""
    return sha256(text.encode()).hexdigest()[:16]


@level("observed.wish.{tenant}.{cluster}", owner="gateway")
class Wish(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """What a Colony now asks of one cluster, or that it asks for it no more."""

    tenant: str
    colony: str
    cluster: str
    """Its name within the Colony."""
    uid: str
    """The Colony's."""
    generation: int
    deleting: bool = False
    force: bool = False
    """Its end shall wait for nothing in the cluster: neither for work nor for what is to be cleaned."""
    need: Need
    limits: Limits = Limits()
    addons: tuple[AddonRef, ...] = ()
    dropped: tuple[str, ...] = ()
    """Add-ons that the Colony asked for before, and asks for no more."""
    event: str = ""
    """The id of the event that asked for it, where one did: the wish itself is replaced by the next, its id is kept."""
    release: str = ""
    """The id of the event that lets it go, where one did."""
    asked_at: datetime | None = None
    """When it was last asked for in so many words: what ended of itself before is founded again."""
    remains: Remains | None = None
    """Told only as long as the cluster has no history; None: nothing is left of it."""
    commit: str = ""
    """The commit whose status tells how it stands, as ``<forge>:<repository>@<hash>``; empty: none."""

    @property
    def name(self) -> str:
        """The cluster entity's name: unique within its tenant."""
        return cluster_name(self.colony, self.cluster)

    def newer_than(self, other: "Wish") -> bool:
        """Whether this says something later than `other` did, of the same Colony."""
        # A deletion, and the word that it shall wait for nothing, make no generation of their own.
        mine, theirs = ((wish.generation, wish.deleting, wish.force) for wish in (self, other))
        return self.uid == other.uid and mine > theirs

    def asks_anew(self, over: "Wish") -> bool:
        """Whether a cluster that is over, or going, shall be founded again because of this.

        An edit of it buys nothing; that takes the word for it, or one that comes after the word that it shall go.
        """
        if over.deleting:
            return self.newer_than(over) and not self.deleting
        follows = self.uid == over.uid and self.generation >= over.generation and not self.deleting
        return follows and self.asked_at is not None and (over.asked_at is None or self.asked_at > over.asked_at)


def cluster_name(colony: str, cluster: str) -> str:
    """A cluster's name among all those of its tenant, and the stem of every object made for it."""
    return f"{colony}-{cluster}"


def own_name(cluster: str, number: int) -> str:
    """How an object is called that was made for an attempt."""
    return f"{cluster}-{number}"


@intake("cluster.request", "cluster.requested", "cluster.requested.{tenant}")
class ClusterRequest(WireStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Anyone's request for clusters: a Colony's spec under a name; the gateway makes the Colony of it.

    The subject with the tenant in it says the same, so that a tenant's permission can be this and no more.
    """

    tenant: str
    """The namespace the Colony is made in."""
    name: str
    """The Colony's name; the same name again is the same Colony."""
    spec: dict[str, object]
    """As in a Colony: see the Colony's schema."""
    origin: str = "nats"
    """Where the request came from, kept as a label."""


@intake("colony.release", "colony.release.{tenant}.{name}")
class ReleaseRequest(WireStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Anyone's word that a Colony is needed no more; the gateway deletes it.

    The subject names it, so that a request which is heard late can be held against what was said after it.
    """

    tenant: str
    """The Colony's namespace."""
    name: str
    origin: str = ""
    """Only if it bears this origin; empty: whoever made it."""
    force: bool = False
    """Its clusters' machines are given back at once: nothing in the clusters is waited for."""


@intake("colony.scale", "colony.scale.{tenant}.{name}.{cluster}")
class ScaleRequest(WireStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Anyone's word that pools of a cluster shall have another number of nodes; the gateway writes it into the Colony.

    The last word on a cluster counts: one that still waits when another comes is passed over.
    """

    tenant: str
    """The Colony's namespace."""
    name: str
    """The Colony's."""
    cluster: str
    """Its name within the Colony."""
    nodes: dict[str, int]
    """By pool; pools that are not named stay as they are."""


@intake("colony.extend", "colony.extend.{tenant}.{name}.{cluster}")
class ExtendRequest(WireStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Anyone's word that a cluster shall live longer; the gateway writes it into the Colony.

    It never shortens a life: heard twice, late, or after a longer one, it changes nothing.
    """

    tenant: str
    """The Colony's namespace."""
    name: str
    """The Colony's."""
    cluster: str
    """Its name within the Colony."""
    time_to_live: str
    """So long at least, counted from when it was first ready, such as 12h: what its ``timeToLive`` shall be."""
