"""A Colony is what people write: clusters that belong together, what each may cost, how long it may live."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from schemas.crds.manifests import Manifests
from schemas.crds.model import (
    COMMIT,
    Accelerator,
    CrdModel,
    Distinct,
    Duration,
    Label,
    ListMap,
    Places,
    PositiveDuration,
    Timestamp,
)
from schemas.crds.network import NetworkSpec
from schemas.crds.nodes import LabelMap, TaintSpec
from schemas.crds.status import ColonyStatus
from schemas.wish import OnRelease, ScaledBy, Spot, cluster_name

LONGEST_NAME = 50
"""Of Colony and cluster together: objects made for it add a suffix, and a label of Kubernetes has 63."""


class PoolSpec(CrdModel):
    """Nodes of one kind."""

    name: Label = "gpu"
    """Its name within the cluster."""
    accelerator: Accelerator
    """Which accelerator, e.g. H100."""
    accelerators_per_node: Annotated[int, Field(ge=1, le=16)]
    """How many of them each node holds."""
    nodes: Annotated[int, Field(ge=1, le=1024)]
    """How many nodes; with minNodes or maxNodes, how many at first."""
    min_nodes: Annotated[int, Field(ge=1, le=1024)] | None = None
    """When no accelerator of the cluster was used for ten minutes, so many are left; not said: as many as nodes."""
    max_nodes: Annotated[int, Field(ge=1, le=1024)] | None = None
    """When pods find no node for the accelerators they ask for, up to so many; not said: as many as nodes."""
    spot: Annotated[Spot, Field(strict=False)] = Spot.PREFERRED
    """Whether machines will do that the cloud may take back."""
    cpu: Annotated[int, Field(ge=1, le=1024)] | None = None
    """At least so many vCPUs a node."""
    memory_gib: Annotated[int, Field(ge=1, le=65536)] | None = Field(None, alias="memoryGiB")
    """At least so much memory a node (GiB)."""
    pod_cpu: Annotated[float, Field(gt=0, le=1024)] | None = None
    """At least so many cores of each node for pods: what the system and its daemons leave, as far as can be told."""
    pod_memory_gib: Annotated[float, Field(gt=0, le=65536)] | None = Field(None, alias="podMemoryGiB")
    """At least so much memory of each node for pods (GiB)."""
    disk_gib: Annotated[int, Field(ge=1, le=65536)] | None = Field(None, alias="diskGiB")
    """At least so much disk a node (GiB)."""
    zones: Distinct = Field(default_factory=list)
    """Only in these zones; none named: any."""
    labels: LabelMap = Field(default_factory=dict)
    """Labels its nodes bear from the start."""
    taints: Annotated[list[TaintSpec], Field(max_length=16), ListMap("key")] = Field(default_factory=list)
    """Taints its nodes bear from the start."""

    @model_validator(mode="after")
    def _between(self) -> "PoolSpec":
        if self.min_nodes is not None and self.min_nodes > self.nodes:
            raise ValueError(f"minNodes {self.min_nodes} is more than nodes {self.nodes}: must be at most that")
        if self.max_nodes is not None and self.max_nodes < self.nodes:
            raise ValueError(f"maxNodes {self.max_nodes} is less than nodes {self.nodes}: must be at least that")
        return self

    @property
    def elastic(self) -> bool:
        """Its size follows what its pods ask for."""
        return self.min_nodes not in (None, self.nodes) or self.max_nodes not in (None, self.nodes)


class AddonSpec(CrdModel):
    """What is put on the cluster before it is handed over."""

    name: Label
    """Its name within the cluster."""
    manifests: Manifests
    """Kubernetes objects as YAML, one document each."""


class AdoptSpec(CrdModel):
    """A cluster that stands already."""

    name: Label
    """The ClusterDeployment (k0rdent) or Cluster (capi) in the Colony's namespace; it is never made anew."""
    on_release: Annotated[OnRelease, Field(strict=False)] = OnRelease.KEEP
    """What becomes of it when it is asked for no more: kept as it is for those who made it, or deleted."""
    node_price_per_hour: Annotated[float, Field(ge=0)] | None = None
    """What a node of it costs (USD per hour); not said: what the catalogs ask for such a machine."""


class ClusterSpec(CrdModel):
    """One cluster: what it is made of, where it may be, what it may cost, how long it may live."""

    name: Label
    """Its name within the Colony; with the Colony's name and a hyphen at most 50 characters."""
    pools: Annotated[list[PoolSpec], Field(min_length=1, max_length=10), ListMap()]
    """What it is made of."""
    clouds: Distinct = Field(default_factory=list)
    """Only these clouds; none named: any."""
    regions: Distinct = Field(default_factory=list)
    """Only these regions; none named: any."""
    residency: Places = Field(default_factory=list)
    """Only in these countries (such as DE) or jurisdictions (EU, EEA); a region of an unknown country is in none."""
    max_price_per_hour: Annotated[float, Field(gt=0)] | None = None
    """Wait rather than pay more (USD per hour for the whole cluster)."""
    kubernetes_version: Annotated[str, Field(max_length=63, pattern=r"^v1\.[0-9]+\.[0-9]+$")] = "v1.34.0"
    """Which Kubernetes, e.g. v1.34.0; k0rdent's templates may differ in the patch, a named one in all of it."""
    network: NetworkSpec | None = None
    """Which addresses it gives out; not said: those of its template."""
    backend: Label | None = None
    """What founds it, such as capi or k0rdent; not said: what this installation uses."""
    template: Annotated[str, Field(min_length=1, max_length=253)] | None = None
    """The ClusterTemplate (k0rdent), or the ConfigMap that holds the manifests (capi)."""
    time_to_live: PositiveDuration | None = None
    """It goes so long after it was first ready."""
    idle_after: PositiveDuration | None = None
    """It goes when no accelerator was in use for so long."""
    warn_before: Duration = Field("5m", validate_default=True)
    """How long before its end that is said."""
    drain_timeout: Duration = Field("5m", validate_default=True)
    """Once it goes: how long its work may take to end; then its machines are given back all the same."""
    clean_timeout: Duration = Field("5m", validate_default=True)
    """The same, of its add-ons, load balancers and volumes; the status then says what may be left of them."""
    asked_at: Timestamp | None = None
    """Once its own end has come (timeToLive, idleAfter), another edit founds nothing: a later time here founds it."""
    hibernate: bool = False
    """Give the machines of all pools back, and keep the rest; they come back when this is false again."""
    scaled_by: Annotated[ScaledBy, Field(strict=False)] = ScaledBy.ALATE
    """Who sets the nodes between minNodes and maxNodes: alate, or the cluster autoscaler of Cluster API (capi)."""
    adopt: AdoptSpec | None = None
    """Take in a cluster that stands already instead of founding one; its pools are written as they are."""
    addons: Annotated[list[AddonSpec], Field(max_length=64), ListMap()] = Field(default_factory=list)
    """What is put on it before it is handed over."""

    @model_validator(mode="after")
    def _as_it_stands(self) -> "ClusterSpec":
        if self.adopt and self.network:
            raise ValueError("network is what the adopted cluster has already: must be left out")
        return self

    @model_validator(mode="after")
    def _one_elastic_of_a_kind(self) -> "ClusterSpec":
        """Which of two pools of the same accelerator should grow for a pod would be a guess."""
        follows = self.scaled_by is ScaledBy.ALATE
        kinds = [pool.accelerator for pool in self.pools if pool.elastic and follows]
        if twice := [kind for kind in dict.fromkeys(kinds) if kinds.count(kind) > 1]:
            raise ValueError(f"pools with {twice[0]} have minNodes or maxNodes more than once: only one of them may")
        return self

    @model_validator(mode="after")
    def _autoscaled(self) -> "ClusterSpec":
        """What would be undone by the autoscaler, or not be known to it, is not promised."""
        if self.scaled_by is ScaledBy.ALATE:
            return self
        if self.hibernate or self.adopt:
            field = "hibernate" if self.hibernate else "adopt"
            raise ValueError(f"{field} cannot be with scaledBy ClusterAutoscaler: must be left out, or scaledBy Alate")
        for pool in self.pools:
            if pool.max_nodes in (None, pool.nodes):
                raise ValueError(f"pool {pool.name} has no room to grow: scaledBy ClusterAutoscaler needs its maxNodes")
            if pool.min_nodes not in (None, pool.nodes):
                raise ValueError(
                    f"pool {pool.name} would begin with nodes {pool.nodes}, and scaledBy ClusterAutoscaler with "
                    f"minNodes {pool.min_nodes}: must be the same"
                )
        return self


class ColonySpec(CrdModel):
    """The clusters that are wanted."""

    clusters: Annotated[list[ClusterSpec], Field(min_length=1, max_length=32), ListMap()]
    """Each comes and goes on its own."""
    commit: Annotated[str, Field(max_length=512, pattern=COMMIT)] | None = None
    """The commit whose status shall tell how the clusters stand, such as github:acme/models@<its whole hash>."""


class Metadata(CrdModel):
    """What of an object's metadata is of interest here."""

    model_config = ConfigDict(extra="ignore")

    name: Label
    namespace: str = "default"
    uid: str = ""
    generation: int = 0
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)
    deletion_timestamp: Timestamp | None = None


class Colony(CrdModel):
    """Clusters that belong together, founded where accelerators are cheapest, gone when they are done."""

    api_version: Literal["alate.dev/v1alpha1"] = "alate.dev/v1alpha1"
    kind: Literal["Colony"] = "Colony"
    metadata: Metadata
    spec: ColonySpec
    """What is wanted."""
    status: ColonyStatus | None = None
    """What is there."""

    @model_validator(mode="after")
    def _short_enough(self) -> "Colony":
        for place, cluster in enumerate(self.spec.clusters):
            name = cluster_name(self.metadata.name, cluster.name)
            if len(name) > LONGEST_NAME:
                raise ValueError(
                    f"spec.clusters[{place}].name makes the combined name {name}, "
                    f"which has {len(name)} characters: must have at most {LONGEST_NAME}"
                )
        return self

    @model_validator(mode="after")
    def _of_others(self) -> "Colony":
        """What bears the name of a try of ours would be taken for one."""
        for place, cluster in enumerate(self.spec.clusters):
            stem, _, number = cluster.adopt.name.rpartition("-") if cluster.adopt else ("", "", "")
            if stem == cluster_name(self.metadata.name, cluster.name) and number.isdigit():
                raise ValueError(
                    f"spec.clusters[{place}].adopt.name is {stem}-{number}, as alate calls what it makes for this "
                    "cluster: must be another, so call the Colony or its cluster otherwise"
                )
        return self
