"""The Colony's status: what `kubectl get` and `kubectl wait` read."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from schemas.crds.model import CrdModel, ListMap, Timestamp

ShortText = Annotated[str, Field(max_length=63)]
"""A short text; the bound lets an API server limit the cost of validation rules."""


class StatusModel(CrdModel):
    """A part of the status: only alate writes it, and unknown fields are ignored when it is read."""

    model_config = ConfigDict(extra="ignore")


class ConditionStatus(StatusModel):
    """A condition of a Colony, a cluster or a Trigger, as Kubernetes conventions have it."""

    type: ShortText
    """The condition's type, e.g. Ready."""
    status: Literal["True", "False", "Unknown"]
    """Whether the condition holds."""
    observed_generation: int | None = None
    """The generation of the spec that this refers to."""
    last_transition_time: Timestamp
    """When the status last changed."""
    reason: str
    """The reason for programs, in CamelCase."""
    message: str
    """The message for people, one sentence."""


class OfferStatus(StatusModel):
    """The machines that were bought."""

    cloud: str | None = None
    """The cloud."""
    region: str | None = None
    """The region."""
    zone: str | None = None
    """The zone."""
    instance: str | None = None
    """The cloud's name of the machine type."""
    price_per_hour: float | None = None
    """USD per hour for the whole cluster."""
    spot: bool | None = None
    """Whether they are spot machines."""


class AttemptStatus(StatusModel):
    """A failed attempt."""

    number: int
    """Counted from 1."""
    cloud: str | None = None
    """The cloud."""
    region: str | None = None
    """The region."""
    instance: str | None = None
    """The machine type."""
    spot: bool | None = None
    """Whether it used spot machines."""
    reason: str | None = None
    """Why it failed, for programs, e.g. NoCapacity."""
    message: str | None = None
    """The back end's message."""


class AddonStatus(StatusModel):
    """The state of one add-on."""

    name: str
    """The add-on's name."""
    phase: str | None = None
    """The state."""
    message: str | None = None
    """What it waits for, what went wrong, or which objects were left and why."""


class SkippedStatus(StatusModel):
    """A step of the teardown that was skipped, so that machines do not cost longer."""

    step: str
    """The step: Draining or Cleaning."""
    reason: str
    """Why it was skipped."""
    left: str
    """What may be left because of it."""


class TeardownStatus(StatusModel):
    """The state of a cluster's teardown."""

    phase: str | None = None
    """The state."""
    reason: str | None = None
    """Why the cluster is deleted: Deleted, TimeToLive or Idle."""
    since: Timestamp | None = None
    """When the teardown began."""
    at: Timestamp | None = None
    """When the cluster is or was deleted; during a step, when the step is skipped at the latest."""
    message: str | None = None
    """What this step waits for."""
    skipped: Annotated[list[SkippedStatus], Field(json_schema_extra={"x-kubernetes-list-type": "atomic"})] | None = None
    """Steps that were skipped; a step can occur several times if the cluster was lost and created again."""


class PoolStatus(StatusModel):
    """The state of one pool."""

    name: str
    """The name in the spec."""
    nodes_ready: int | None = None
    """Number of ready nodes; left out if nodes do not say which pool they belong to."""
    nodes_wanted: int
    """How many there shall be."""
    accelerators_ready: int | None = None
    """Number of ready accelerators; left out likewise."""
    accelerators_wanted: int
    """How many there shall be."""


class ClusterStatus(StatusModel):
    """The state of one cluster."""

    name: str
    """The name in the spec."""
    phase: str | None = None
    """The state."""
    since: Timestamp | None = None
    """Since when it is in that state."""
    offer: OfferStatus | None = None
    """The machines it runs on."""
    next_best_price_per_hour: float | None = None
    """USD per hour of the next best offer."""
    nodes_ready: int | None = None
    """Number of ready nodes."""
    nodes_wanted: int | None = None
    """Number of nodes in the spec."""
    accelerators_ready: int | None = None
    """Number of ready accelerators."""
    accelerators_wanted: int | None = None
    """Number of accelerators in the spec."""
    pools: Annotated[list[PoolStatus], ListMap()] = Field(default_factory=list)
    """The state of each pool."""
    kubeconfig_secret: str | None = None
    """The Secret with the kubeconfig under the key `value`."""
    endpoint: str | None = None
    """The URL of its API server, if its back end reports it."""
    kubernetes_version: str | None = None
    """The version that all its machines run; the condition Upgrading has the version it is getting."""
    conditions: Annotated[list[ConditionStatus], ListMap("type")] = Field(default_factory=list)
    """Conditions, e.g. Reachable, AcceleratorsReady, Ready."""
    addons: Annotated[list[AddonStatus], ListMap()] = Field(default_factory=list)
    """The state of its add-ons."""
    teardown: TeardownStatus | None = None
    """The state of its teardown, once it has one."""
    expires_at: Timestamp | None = None
    """When its time to live ends."""
    idle_since: Timestamp | None = None
    """Since when no accelerator is in use."""
    attempts: int | None = None
    """Number of attempts."""
    interruptions: int | None = None
    """How often it was complete on spot machines and then lost some; left out if never."""
    failed_attempts: Annotated[list[AttemptStatus], ListMap("number")] | None = None
    """The last failed attempts, newest last."""
    message: str | None = None
    """What it waits for, or what went wrong."""


class GpuStatus(StatusModel):
    """All accelerators of one model in the Colony."""

    model: str
    """Canonical name, with the MIG profile if it is a part."""
    total: float
    """Number that is allocatable on ready nodes."""
    allocated: float
    """Number that pods hold."""
    nodes: int
    """Number of nodes that have them."""


class ColonyStatus(StatusModel):
    """The state of the Colony and of its clusters."""

    phase: str | None = None
    """The state of the Colony as a whole."""
    observed_generation: int | None = None
    """The generation of the spec that this status refers to."""
    ready: str | None = None
    """Ready clusters of the desired ones, e.g. 1/1."""
    accelerators: str | None = None
    """Ready accelerators of the desired ones, e.g. 16/16."""
    offer: str | None = None
    """The machines it runs on, in short."""
    price_per_hour: float | None = None
    """USD per hour, all clusters."""
    cost_usd: float | None = None
    """USD so far, all clusters."""
    expires_at: Timestamp | None = None
    """When the first of its clusters reaches its time to live."""
    message: str | None = None
    """What it waits for, or what went wrong."""
    kubeconfig_secret: str | None = None
    """The Secret with a kubeconfig that has a context for each reachable cluster, under the key `value`."""
    running: (
        Annotated[list[ShortText], Field(max_length=32, json_schema_extra={"x-kubernetes-list-type": "set"})] | None
    ) = None
    """Clusters of the spec that run: most of their fields cannot change."""
    conditions: Annotated[list[ConditionStatus], Field(max_length=32), ListMap("type")] = Field(default_factory=list)
    """Conditions, for kubectl wait."""
    gpu_inventory: Annotated[list[GpuStatus], ListMap("model")] | None = None
    """Accelerators of its clusters, by model."""
    clusters: Annotated[list[ClusterStatus], ListMap()] = Field(default_factory=list)
    """The state of each cluster."""
