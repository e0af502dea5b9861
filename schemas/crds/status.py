"""What a Colony shows of its clusters, for `kubectl get`, `kubectl wait` and everything that reads status."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from schemas.crds.model import CrdModel, ListMap, Timestamp

ShortText = Annotated[str, Field(max_length=63)]
"""What a name or a word has at most: an API server counts what its rules may cost by that."""


class StatusModel(CrdModel):
    """A part of the status: written by us alone, and read even where a newer release wrote it."""

    model_config = ConfigDict(extra="ignore")


class ConditionStatus(StatusModel):
    """One aspect of a Colony or a cluster, as Kubernetes conventions have it."""

    type: ShortText
    """CamelCase, e.g. Ready."""
    status: Literal["True", "False", "Unknown"]
    """Whether the aspect holds."""
    observed_generation: int | None = None
    """The generation of the spec this was said of."""
    last_transition_time: Timestamp
    """When the status last changed."""
    reason: str
    """CamelCase, for programs."""
    message: str
    """One sentence, for people."""


class OfferStatus(StatusModel):
    """What was bought."""

    cloud: str | None = None
    """Whose machines they are."""
    region: str | None = None
    """Where they are."""
    zone: str | None = None
    """Where in the region."""
    instance: str | None = None
    """What the cloud calls this kind of machine."""
    price_per_hour: float | None = None
    """USD per hour for the whole cluster."""
    spot: bool | None = None
    """Whether the cloud may take them back."""


class AttemptStatus(StatusModel):
    """A try that came to nothing."""

    number: int
    """Counted from 1."""
    cloud: str | None = None
    """Where it was made."""
    region: str | None = None
    """Where in the cloud."""
    instance: str | None = None
    """The kind of machine."""
    spot: bool | None = None
    """Whether as spot."""
    reason: str | None = None
    """Why it failed, for programs, e.g. NoCapacity."""
    message: str | None = None
    """What the back end said."""


class AddonStatus(StatusModel):
    """How far one add-on is."""

    name: str
    """Its name in the spec, now or before."""
    phase: str | None = None
    """Its state."""
    message: str | None = None
    """What it waits for, what went wrong, or what of it was left and why."""


class SkippedStatus(StatusModel):
    """A step of the end that was given up, so that machines are not paid for any longer."""

    step: str
    """Draining or Cleaning."""
    reason: str
    """Why it was given up."""
    left: str
    """What may be left because of it."""


class TeardownStatus(StatusModel):
    """How far the end is."""

    phase: str | None = None
    """Its state."""
    reason: str | None = None
    """Why the cluster goes."""
    since: Timestamp | None = None
    """When the end began."""
    at: Timestamp | None = None
    """When it goes, or went; while a step is under way, when that is given up at the latest."""
    message: str | None = None
    """What this step waits for."""
    skipped: Annotated[list[SkippedStatus], Field(json_schema_extra={"x-kubernetes-list-type": "atomic"})] | None = None
    """Steps that were given up: one several times, where the cluster was lost and founded again before."""


class PoolStatus(StatusModel):
    """The nodes of one pool."""

    name: str
    """Its name in the spec."""
    nodes_ready: int | None = None
    """How many of them are ready; left out where nodes do not tell which pool they are of."""
    nodes_wanted: int
    """How many there shall be."""
    accelerators_ready: int | None = None
    """How many accelerators can be used on them; left out likewise."""
    accelerators_wanted: int
    """How many there shall be."""


class ClusterStatus(StatusModel):
    """One cluster of the Colony."""

    name: str
    """Its name in the spec."""
    phase: str | None = None
    """Its state."""
    since: Timestamp | None = None
    """When it entered that state."""
    offer: OfferStatus | None = None
    """What it runs on."""
    next_best_price_per_hour: float | None = None
    """USD per hour that the next best offer would have cost."""
    nodes_ready: int | None = None
    """How many nodes are ready."""
    nodes_wanted: int | None = None
    """How many nodes the spec asks for."""
    accelerators_ready: int | None = None
    """How many accelerators can be used."""
    accelerators_wanted: int | None = None
    """How many accelerators the spec asks for."""
    pools: Annotated[list[PoolStatus], ListMap()] = Field(default_factory=list)
    """The same, pool by pool."""
    kubeconfig_secret: str | None = None
    """The Secret whose key `value` is the kubeconfig."""
    endpoint: str | None = None
    """The URL of its API server, where its back end tells it."""
    kubernetes_version: str | None = None
    """The version that all of it runs; what it is getting meanwhile is told by the condition Upgrading."""
    conditions: Annotated[list[ConditionStatus], ListMap("type")] = Field(default_factory=list)
    """How far it is, aspect by aspect, e.g. Reachable, AcceleratorsReady, Ready."""
    addons: Annotated[list[AddonStatus], ListMap()] = Field(default_factory=list)
    """Its add-ons."""
    teardown: TeardownStatus | None = None
    """Its end, once that is in sight."""
    expires_at: Timestamp | None = None
    """When its time to live is over."""
    idle_since: Timestamp | None = None
    """Since when no accelerator is in use."""
    attempts: int | None = None
    """How many offers were tried."""
    interruptions: int | None = None
    """How often it was whole on spot machines, and then was not; where it never was, this is left out."""
    failed_attempts: Annotated[list[AttemptStatus], ListMap("number")] | None = None
    """Those that came to nothing lately, the newest last."""
    message: str | None = None
    """What it waits for, or what went wrong."""


class GpuStatus(StatusModel):
    """All accelerators of one model in the Colony."""

    model: str
    """Canonical name, with the MIG profile if it is a part."""
    total: float
    """How many can be allocated on ready nodes."""
    allocated: float
    """How many of them pods hold."""
    nodes: int
    """On how many nodes they are."""


class ColonyStatus(StatusModel):
    """All clusters of the Colony at a glance."""

    phase: str | None = None
    """The state of the Colony as a whole."""
    observed_generation: int | None = None
    """The generation of the spec this answers to."""
    ready: str | None = None
    """Clusters ready of those wanted, e.g. 1/1."""
    accelerators: str | None = None
    """Accelerators ready of those wanted, e.g. 16/16."""
    offer: str | None = None
    """What it runs on, in short."""
    price_per_hour: float | None = None
    """USD per hour, all clusters."""
    cost_usd: float | None = None
    """USD spent so far, all clusters."""
    expires_at: Timestamp | None = None
    """When the first of its clusters has its time to live behind it."""
    message: str | None = None
    """What it waits for, or what went wrong."""
    kubeconfig_secret: str | None = None
    """The Secret whose key `value` is a kubeconfig with a context for each cluster that can be reached."""
    running: (
        Annotated[list[ShortText], Field(max_length=32, json_schema_extra={"x-kubernetes-list-type": "set"})] | None
    ) = None
    """Clusters of the spec that are founded: most of what is written of them cannot change."""
    conditions: Annotated[list[ConditionStatus], Field(max_length=32), ListMap("type")] = Field(default_factory=list)
    """Its aspects, for kubectl wait."""
    gpu_inventory: Annotated[list[GpuStatus], ListMap("model")] | None = None
    """What its clusters have, by model."""
    clusters: Annotated[list[ClusterStatus], ListMap()] = Field(default_factory=list)
    """Cluster by cluster."""
