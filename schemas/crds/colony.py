"""The Colony's spec: clusters that belong together, what each may cost, how long it may live."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from schemas.crds.addons import AddonSpec, order_problem
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
    read,
)
from schemas.crds.network import NetworkSpec
from schemas.crds.nodes import LabelKey, LabelValue, PoolLabels, TaintSpec
from schemas.crds.status import ColonyStatus
from schemas.wish import OnRelease, ScaledBy, Spot, cluster_name

LONGEST_NAME = 50
"""The most characters of Colony and cluster together: objects add a suffix, and a Kubernetes label has 63."""


class PoolSpec(CrdModel):
    """Nodes of one kind."""

    name: Label = "gpu"
    """Its name within the cluster."""
    accelerator: Accelerator
    """Which accelerator, e.g. H100."""
    accelerators_per_node: Annotated[int, Field(ge=1, le=16)]
    """How many accelerators each node has."""
    nodes: Annotated[int, Field(ge=1, le=1024)]
    """Number of nodes; with minNodes or maxNodes, the number at first."""
    min_nodes: Annotated[int, Field(ge=1, le=1024)] | None = None
    """The fewest nodes, left when no accelerator was used for ten minutes; default: nodes."""
    max_nodes: Annotated[int, Field(ge=1, le=1024)] | None = None
    """The most nodes, added when pods find no node for the accelerators they request; default: nodes."""
    spot: Annotated[Spot, Field(strict=False)] = Spot.PREFERRED
    """Whether to use spot machines, which the cloud may take back: never, preferred or only."""
    cpu: Annotated[int, Field(ge=1, le=1024)] | None = None
    """At least so many vCPUs per node."""
    memory_gib: Annotated[int, Field(ge=1, le=65536)] | None = Field(None, alias="memoryGiB")
    """At least so much memory per node (GiB)."""
    pod_cpu: Annotated[float, Field(gt=0, le=1024)] | None = None
    """At least so many cores of each node for pods, after the system and its daemons, as far as known."""
    pod_memory_gib: Annotated[float, Field(gt=0, le=65536)] | None = Field(None, alias="podMemoryGiB")
    """At least so much memory of each node for pods (GiB)."""
    disk_gib: Annotated[int, Field(ge=1, le=65536)] | None = Field(None, alias="diskGiB")
    """At least so much disk per node (GiB)."""
    zones: Distinct = Field(default_factory=list)
    """Only in these zones; default: any."""
    labels: PoolLabels = Field(default_factory=dict)
    """Labels of its nodes from the start."""
    taints: Annotated[list[TaintSpec], Field(max_length=16), ListMap("key")] = Field(default_factory=list)
    """Taints of its nodes from the start."""

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


class AdoptSpec(CrdModel):
    """An existing cluster that is adopted."""

    name: Label
    """The ClusterDeployment (k0rdent) or Cluster (capi) in the Colony's namespace; it is never created again."""
    on_release: Annotated[OnRelease, Field(strict=False)] = OnRelease.KEEP
    """What happens to it when it is no longer asked for: keep or delete."""
    node_price_per_hour: Annotated[float, Field(ge=0)] | None = None
    """Price of one node (USD per hour); default: the catalogs' price of such a machine."""


class ClusterSpec(CrdModel):
    """One cluster: its machines, where it may run, what it may cost, how long it may live."""

    name: Label
    """Its name within the Colony; with the Colony's name and a hyphen at most 50 characters."""
    pools: Annotated[list[PoolSpec], Field(min_length=1, max_length=10), ListMap()]
    """Its pools of nodes."""
    clouds: Distinct = Field(default_factory=list)
    """Only these clouds; default: any."""
    regions: Distinct = Field(default_factory=list)
    """Only these regions; default: any."""
    residency: Places = Field(default_factory=list)
    """Only in these countries (such as DE) or jurisdictions (EU, EEA); a region of an unknown country is in none."""
    max_price_per_hour: Annotated[float, Field(gt=0)] | None = None
    """Wait rather than pay more (USD per hour for the whole cluster)."""
    kubernetes_version: Annotated[str, Field(max_length=63, pattern=r"^v1\.[0-9]+\.[0-9]+$")] = "v1.34.0"
    """The Kubernetes version, e.g. v1.34.0; k0rdent's templates may have another patch, a named one any version."""
    network: NetworkSpec | None = None
    """Address ranges of its pods and Services; default: those of its template."""
    backend: Label | None = None
    """The back end that creates it, capi or k0rdent; default: the installation's."""
    template: Annotated[str, Field(min_length=1, max_length=253)] | None = None
    """The ClusterTemplate (k0rdent), or the ConfigMap that holds the manifests (capi)."""
    time_to_live: PositiveDuration | None = None
    """Delete it this long after it was first ready; default: never."""
    idle_after: PositiveDuration | None = None
    """Delete it when no accelerator was in use for this long; default: never."""
    warn_before: Duration = Field("5m", validate_default=True)
    """How long before its end a warning is published."""
    drain_timeout: Duration = Field("5m", validate_default=True)
    """How long its workloads may take to end when it is deleted; then its machines are released all the same."""
    clean_timeout: Duration = Field("5m", validate_default=True)
    """How long deleting its add-ons, load balancers and volumes may take; the status then says what may be left."""
    asked_at: Timestamp | None = None
    """A later time here creates it again after it ended by timeToLive or idleAfter; other edits do not."""
    hibernate: bool = False
    """Release the machines of all pools and keep the rest; false brings them back."""
    scaled_by: Annotated[ScaledBy, Field(strict=False)] = ScaledBy.ALATE
    """Who sets the number of nodes between minNodes and maxNodes: alate, or Cluster API's cluster autoscaler (capi)."""
    adopt: AdoptSpec | None = None
    """Adopt an existing cluster instead of creating one; its pools are written as they are."""
    addons: Annotated[list[AddonSpec], Field(max_length=64), ListMap()] = Field(default_factory=list)
    """Add-ons that are applied to it; it is not ready without the required ones."""
    labels: Annotated[dict[LabelKey, LabelValue], Field(max_length=64)] = Field(default_factory=dict)
    """Labels of the cluster, by which AddonProfiles select it."""
    annotations: Annotated[dict[LabelKey, Annotated[str, Field(max_length=1024)]], Field(max_length=16)] = Field(
        default_factory=dict
    )
    """Annotations of the cluster, for templates of add-ons."""

    @model_validator(mode="after")
    def _as_it_stands(self) -> "ClusterSpec":
        if self.adopt and self.network:
            raise ValueError("network is what the adopted cluster has already: must be left out")
        return self

    @model_validator(mode="after")
    def _ordered(self) -> "ClusterSpec":
        if problem := order_problem(self.addons):
            raise ValueError(problem)
        return self

    @model_validator(mode="after")
    def _one_elastic_of_a_kind(self) -> "ClusterSpec":
        """Refuse two elastic pools of one accelerator: which of them should grow for a pod would be a guess."""
        follows = self.scaled_by is ScaledBy.ALATE
        kinds = [pool.accelerator for pool in self.pools if pool.elastic and follows]
        if twice := [kind for kind in dict.fromkeys(kinds) if kinds.count(kind) > 1]:
            raise ValueError(f"pools with {twice[0]} have minNodes or maxNodes more than once: only one of them may")
        return self

    @model_validator(mode="after")
    def _autoscaled(self) -> "ClusterSpec":
        """Refuse what the autoscaler would undo or would not know."""
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
    """The desired clusters."""

    clusters: Annotated[list[ClusterSpec], Field(min_length=1, max_length=32), ListMap()]
    """The clusters; each is created and deleted on its own."""
    commit: Annotated[str, Field(max_length=512, pattern=COMMIT)] | None = None
    """The commit whose status shows the clusters' state, such as github:acme/models@<full hash>."""


class Metadata(CrdModel):
    """The fields of an object's metadata that alate reads."""

    model_config = ConfigDict(extra="ignore")

    name: Label
    namespace: str = "default"
    uid: str = ""
    generation: int = 0
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)
    deletion_timestamp: Timestamp | None = None


class Colony(CrdModel):
    """Clusters that belong together, created where accelerators are cheapest and deleted when they are done."""

    api_version: Literal["alate.dev/v1alpha1"] = "alate.dev/v1alpha1"
    kind: Literal["Colony"] = "Colony"
    metadata: Metadata
    spec: ColonySpec
    """The desired state."""
    status: ColonyStatus | None = None
    """The current state."""

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
        """Refuse adopting an object whose name could be one of alate's own attempts."""
        for place, cluster in enumerate(self.spec.clusters):
            stem, _, number = cluster.adopt.name.rpartition("-") if cluster.adopt else ("", "", "")
            if stem == cluster_name(self.metadata.name, cluster.name) and number.isdigit():
                raise ValueError(
                    f"spec.clusters[{place}].adopt.name is {stem}-{number}, as alate calls what it makes for this "
                    "cluster: must be another, so call the Colony or its cluster otherwise"
                )
        return self


def read_colony(written: Mapping[str, object]) -> Colony:
    """Read a Colony from a file or the API server. Raises `InvalidResource`, one sentence per mistake."""
    return read(Colony, written)
