"""The AddonProfile's spec: add-ons for every cluster that it selects, and how they are rolled out."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from schemas.crds.addons import ATOMIC, AddonSpec, order_problem
from schemas.crds.colony import Metadata
from schemas.crds.model import CrdModel, Distinct, Label, ListMap, PositiveDuration, read
from schemas.crds.nodes import LabelKey, LabelValue
from schemas.crds.status import ConditionStatus, StatusModel


class LabelRequirement(CrdModel):
    """A requirement on one label, as Kubernetes has them."""

    key: LabelKey
    """The label."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    """How it is compared."""
    values: Annotated[list[LabelValue], Field(max_length=64, json_schema_extra=ATOMIC)] = Field(default_factory=list)
    """The values, with In and NotIn."""

    @model_validator(mode="after")
    def _with_values(self) -> "LabelRequirement":
        if (self.operator in ("In", "NotIn")) != bool(self.values):
            raise ValueError("values must be given with In and NotIn, and with nothing else")
        return self


class ClusterSelectorSpec(CrdModel):
    """Which clusters: all that everything written here holds of; nothing written: every cluster."""

    match_labels: Annotated[dict[LabelKey, LabelValue], Field(max_length=64)] = Field(default_factory=dict)
    """Labels that a cluster has."""
    match_expressions: Annotated[list[LabelRequirement], Field(max_length=64, json_schema_extra=ATOMIC)] = Field(
        default_factory=list
    )
    """Requirements on labels."""
    names: Distinct = Field(default_factory=list)
    """Names of clusters, <Colony>-<cluster>."""
    colonies: Distinct = Field(default_factory=list)
    """Only clusters of these Colonies."""
    where: Annotated[str, Field(min_length=1, max_length=2048)] | None = None
    """CEL over `cluster`, such as cluster.cloud == "aws" && cluster.version.minor >= 33."""


class StageSpec(CrdModel):
    """A part of the clusters, which is complete before the next begins."""

    name: Label
    """Its name."""
    clusters: ClusterSelectorSpec
    """Which clusters."""
    approval: bool = False
    """It begins once the profile's annotation alate.dev/approved holds <stage>@<revision>."""


class RolloutSpec(CrdModel):
    """How a change reaches many clusters."""

    max_in_flight: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """The most clusters that change at once; default: all."""
    soak: PositiveDuration | None = None
    """How long a cluster must stay healthy before it counts as done."""
    deadline: PositiveDuration | None = None
    """How long one cluster may take before it counts as failed; default: the add-on's timeout."""
    max_failures: Annotated[int, Field(ge=0, le=10_000)] = 0
    """The rollout stops once more clusters than these have failed."""
    roll_back: bool = False
    """When it stops, clusters that have changed go back to what they had before."""
    after: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=63)]], Field(max_length=16, json_schema_extra=ATOMIC)
    ] = Field(default_factory=list)
    """It begins once all clusters of these AddonProfiles are done; a ClusterAddonProfile is written all/NAME."""
    stages: Annotated[list[StageSpec], Field(max_length=32), ListMap()] = Field(default_factory=list)
    """Stages, in this order; clusters of no stage come last."""
    windows: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=253)]], Field(max_length=16, json_schema_extra=ATOMIC)
    ] = Field(default_factory=list)
    """Changes begin only within these times: a cron expression and a duration, such as "0 2 * * 1-5 4h" (UTC)."""


class AddonProfileSpec(CrdModel):
    """Clusters, and the add-ons that they shall have."""

    clusters: ClusterSelectorSpec = Field(default_factory=ClusterSelectorSpec)
    """Which clusters: of the profile's namespace, or with a ClusterAddonProfile of any."""
    addons: Annotated[list[AddonSpec], Field(max_length=64), ListMap()]
    """The add-ons."""
    priority: Annotated[int, Field(ge=1, le=1_000_000)] = 100
    """Of two add-ons that want the same object the lower number gets it; among equals the first keeps it."""
    on_unmatch: Literal["Withdraw", "Leave"] = "Withdraw"
    """What happens to the add-ons of a cluster that is selected no longer."""
    service_account_name: Annotated[str, Field(min_length=1, max_length=253)] | None = None
    """Objects are written with the rights that this ServiceAccount of the profile's namespace has in the cluster."""
    suspend: bool = False
    """Change nothing on any cluster."""
    rollout: RolloutSpec | None = None
    """How a change reaches many clusters; default: all at once."""


class ProfileClusterStatus(StatusModel):
    """A cluster that the profile selects."""

    name: str
    """<namespace>/<name>."""
    phase: str
    """Ready, Applying, Degraded, Waiting or Withdrawing."""
    message: str | None = None
    """What it waits for, or what went wrong."""


class AddonProfileStatus(StatusModel):
    """The state of a profile."""

    observed_generation: int | None = None
    """The generation of the spec that this status refers to."""
    matched: int | None = None
    """How many clusters it selects; 0 while it is not accepted."""
    ready: int | None = None
    """On how many of them all its add-ons are applied and healthy."""
    revision: str | None = None
    """The digest of its add-ons and of what their sources hold, which an approval names."""
    updated: int | None = None
    """How many clusters have got its add-ons as they are written now."""
    in_flight: int | None = None
    """How many of them are changing, or have not been healthy for long enough."""
    failed: int | None = None
    """On how many of them its add-ons have failed."""
    clusters: Annotated[list[ProfileClusterStatus], Field(max_length=50), ListMap()] = Field(default_factory=list)
    """Clusters that are not ready, up to 50."""
    conditions: Annotated[list[ConditionStatus], Field(max_length=16), ListMap("type")] = Field(default_factory=list)
    """Accepted, Ready, Reconciling, Stalled."""


class AddonProfile(CrdModel):
    """Add-ons for the clusters of a namespace that it selects, applied and kept as described."""

    api_version: Literal["alate.dev/v1alpha1"] = "alate.dev/v1alpha1"
    kind: Literal["AddonProfile", "ClusterAddonProfile"] = "AddonProfile"
    metadata: Metadata
    spec: AddonProfileSpec
    """Which clusters, and which add-ons."""
    status: AddonProfileStatus | None = None
    """The current state."""

    @model_validator(mode="after")
    def _whole(self) -> "AddonProfile":
        if problem := order_problem(self.spec.addons):
            raise ValueError(problem)
        return self


def read_profile(written: Mapping[str, Any]) -> AddonProfile:
    """Read a profile of either kind from a file or the API server. Raises `InvalidResource`."""
    return read(AddonProfile, written)
