"""The Trigger's spec: rules that act when a webhook arrives or a message appears on the bus."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, model_validator

from schemas.crds.addons import ATOMIC
from schemas.crds.colony import Metadata
from schemas.crds.model import CrdModel, Label, ListMap, PositiveDuration, read
from schemas.crds.nodes import LabelKey, LabelValue
from schemas.crds.profile import ClusterSelectorSpec, LabelRequirement
from schemas.crds.status import ConditionStatus

CelExpression = Annotated[str, Field(min_length=1, max_length=2048)]
"""CEL over ``event`` (the CloudEvent's attributes), ``data`` (its payload) and ``hook`` (where it came in) or
``message`` (the names in its subject)."""

CelTemplate = Annotated[str, Field(min_length=1, max_length=2048)]
"""Text in which every ``${…}`` is a CEL expression."""


EventPattern = Annotated[str, Field(min_length=3, max_length=63, pattern=r"^(\*|[a-z]+)\.(\*|[a-z]+)$")]
LevelPattern = Annotated[str, Field(min_length=3, max_length=63, pattern=r"^inventory\.(\*|[a-z]+)$")]
TemplatedSpec = Annotated[dict[str, object], Field(json_schema_extra={"x-kubernetes-preserve-unknown-fields": True})]

ACTIONS = {"Request": "colony", "Release": "", "Deploy": "profile", "Withdraw": "", "Run": "job"}
"""The field that each action needs; empty: none."""
CREATING = ("Deploy", "Run")
"""Actions that create an AddonProfile."""
WATCHING = "Watching"
"""The condition that the watched objects of clusters are in."""


class HeardSpec(CrdModel):
    """Messages of the Trigger's namespace that it hears: transitions of entities, or levels."""

    event: EventPattern | None = None
    """A transition, such as cluster.ready; either part may be *. A state that is only said again is not heard."""
    level: LevelPattern | None = None
    """A level of the inventory, such as inventory.nodes, each time that it changes."""

    @model_validator(mode="after")
    def _one(self) -> "HeardSpec":
        if (self.event is None) == (self.level is None):
            raise ValueError("must have one of event and level")
        return self


class ObjectSelectorSpec(CrdModel):
    """Which objects, by their labels."""

    match_labels: Annotated[dict[LabelKey, LabelValue], Field(max_length=16)] = Field(default_factory=dict)
    """Labels that an object has."""
    match_expressions: Annotated[list[LabelRequirement], Field(max_length=16, json_schema_extra=ATOMIC)] = Field(
        default_factory=list
    )
    """Requirements on labels."""


class WatchedObjectsSpec(CrdModel):
    """Objects of one kind in clusters of the Trigger's namespace."""

    name: Label
    """Its name within the Trigger; rules see it as `data.watch`."""
    api_version: Annotated[str, Field(min_length=1, max_length=253, pattern=r"^([a-z0-9.-]+/)?[a-z0-9]+$")]
    """The group and version of the kind, such as batch/v1."""
    kind: Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[A-Za-z][A-Za-z0-9]*$")]
    """The kind; any that the clusters serve, but for Secrets."""
    namespace: Label | None = None
    """Only objects of this namespace of the cluster."""
    selector: ObjectSelectorSpec | None = None
    """Only objects with these labels."""
    clusters: ClusterSelectorSpec = Field(default_factory=ClusterSelectorSpec)
    """In which clusters."""
    when: CelExpression
    """CEL over `object` and `old`, the object before its last change. It is heard when the result changes; with `old`,
    at each change for which it is true."""

    @model_validator(mode="after")
    def _no_secret(self) -> "WatchedObjectsSpec":
        if (self.api_version, self.kind) == ("v1", "Secret"):
            raise ValueError("kind must not be Secret: what it holds would be published")
        return self


class LimitSpec(CrdModel):
    """A rate limit of requests."""

    requests: Annotated[int, Field(ge=1, le=10_000)]
    """The most requests at once, and on average per `every`."""
    every: PositiveDuration
    """The period."""


class RuleSpec(CrdModel):
    """A rule: an action when a condition holds."""

    name: Label
    """Its name within the Trigger."""
    when: CelExpression
    """A CEL expression; the rule holds if it is true."""
    then: Literal["Request", "Release", "Deploy", "Withdraw", "Run"]
    """Request creates or changes the Colony, Release deletes it; Deploy creates or changes an AddonProfile, Withdraw
    deletes it; Run runs a Job once."""
    colony: TemplatedSpec | None = None
    """A Colony's spec; texts may contain ``${…}``, and a text that is only one ``${…}`` keeps the value's type."""
    profile: TemplatedSpec | None = None
    """An AddonProfile's spec with ``${…}``, which selects clusters by name; default: the cluster of the message."""
    job: TemplatedSpec | None = None
    """A Job's spec with ``${…}``."""
    cluster: CelTemplate | None = None
    """The cluster that the Job runs in; default: the cluster of the message."""
    expires_after: PositiveDuration | None = None
    """When the AddonProfile is deleted, counted from the request; default: never, and 24h with Run."""
    once: CelTemplate | None = None
    """A key; the rule acts once a week for the same key. Default: the event's id."""

    @model_validator(mode="after")
    def _whole(self) -> "RuleSpec":
        for action, field in ACTIONS.items():
            if field and (self.then == action) != (getattr(self, field) is not None):
                raise ValueError(f"{field} must be given with then: {action}, and with nothing else")
        if self.expires_after is not None and self.then not in CREATING:
            raise ValueError("expiresAfter must be given with then: Deploy or Run only")
        if self.cluster is not None and self.then != "Run":
            raise ValueError("cluster must be given with then: Run only")
        return self


class TriggerSpec(CrdModel):
    """The webhooks and messages that the Trigger follows, and its rules."""

    messages: Annotated[list[HeardSpec], Field(max_length=16, json_schema_extra=ATOMIC)] = Field(default_factory=list)
    """Messages of its namespace that it hears; with them it hears webhooks only if it names a provider or endpoint."""
    objects: Annotated[list[WatchedObjectsSpec], Field(max_length=8), ListMap()] = Field(default_factory=list)
    """Objects of clusters of its namespace that it hears, with the same effect on webhooks."""
    provider: Label | None = None
    """Only webhooks of this kind, e.g. github."""
    endpoint: Label | None = None
    """Only webhooks of this endpoint."""
    name: CelTemplate
    """The name of the Colony or the AddonProfile: the same from every event of the same work, e.g.
    ``ci-${data.workflow_run.id}``."""
    rules: Annotated[list[RuleSpec], Field(min_length=1, max_length=16), ListMap()]
    """The rules; every rule that holds acts."""
    limit: LimitSpec | None = None
    """A limit of what is created, Colonies and AddonProfiles each; what is beyond it becomes a dead letter. Default: 20
    per hour."""


class TriggerStatus(CrdModel):
    """Whether the Trigger works."""

    observed_generation: int | None = None
    """The generation of the spec that this status refers to."""
    conditions: Annotated[list[ConditionStatus], ListMap("type")] = Field(default_factory=list)
    """Ready: all of it works; Accepted: its rules are followed (Invalid: they cannot be read; TooCostly: off until the
    Trigger is changed); Watching: its objects are watched; Stalled: it works only once it is changed."""


class Trigger(CrdModel):
    """Rules that create and delete Colonies and AddonProfiles in the Trigger's namespace when something happens."""

    api_version: Literal["alate.dev/v1alpha1"] = "alate.dev/v1alpha1"
    kind: Literal["Trigger"] = "Trigger"
    metadata: Metadata
    spec: TriggerSpec
    """The webhooks and messages that the Trigger follows, and its rules."""
    status: TriggerStatus | None = None
    """Whether the Trigger works."""


def read_trigger(written: Mapping[str, object]) -> Trigger:
    """Read a Trigger from a file or the API server. Raises `InvalidResource`, one sentence per mistake."""
    return read(Trigger, written)
