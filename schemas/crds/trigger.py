"""The Trigger's spec: rules that create or delete a Colony when a webhook arrives."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, model_validator

from schemas.crds.colony import Metadata
from schemas.crds.model import CrdModel, Label, ListMap, PositiveDuration, read
from schemas.crds.status import ConditionStatus

CelExpression = Annotated[str, Field(min_length=1, max_length=2048)]
"""CEL over ``event`` (the CloudEvent's attributes), ``data`` (its payload) and ``hook`` (where it came in)."""

CelTemplate = Annotated[str, Field(min_length=1, max_length=2048)]
"""Text in which every ``${…}`` is a CEL expression."""


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
    then: Literal["Request", "Release"]
    """Request creates or changes the Colony, Release deletes it."""
    colony: (
        Annotated[dict[str, object], Field(json_schema_extra={"x-kubernetes-preserve-unknown-fields": True})] | None
    ) = None
    """A Colony's spec; texts may contain ``${…}``, and a text that is only one ``${…}`` keeps the value's type."""
    once: CelTemplate | None = None
    """A key; the rule acts once a week for the same key. Default: the event's id."""

    @model_validator(mode="after")
    def _whole(self) -> "RuleSpec":
        if (self.then == "Request") != (self.colony is not None):
            raise ValueError("colony must be given with then: Request, and with nothing else")
        return self


class TriggerSpec(CrdModel):
    """The webhooks that the Trigger follows, and its rules."""

    provider: Label | None = None
    """Only webhooks of this kind, e.g. github."""
    endpoint: Label | None = None
    """Only webhooks of this endpoint."""
    name: CelTemplate
    """The Colony's name: the same from every event of the same work, e.g. ``ci-${data.workflow_run.id}``."""
    rules: Annotated[list[RuleSpec], Field(min_length=1, max_length=16), ListMap()]
    """The rules; every rule that holds acts."""
    limit: LimitSpec | None = None
    """A limit of requests, not of releases; requests beyond it become dead letters. Default: 20 per hour."""


class TriggerStatus(CrdModel):
    """Whether the Trigger is accepted."""

    conditions: Annotated[list[ConditionStatus], ListMap("type")] = Field(default_factory=list)
    """Accepted: its rules are followed; Invalid: they cannot be read; TooCostly: off until the Trigger is changed."""


class Trigger(CrdModel):
    """Rules that create and delete Colonies in the Trigger's namespace when webhooks arrive."""

    api_version: Literal["alate.dev/v1alpha1"] = "alate.dev/v1alpha1"
    kind: Literal["Trigger"] = "Trigger"
    metadata: Metadata
    spec: TriggerSpec
    """The webhooks that the Trigger follows, and its rules."""
    status: TriggerStatus | None = None
    """Whether the Trigger is accepted."""


def read_trigger(written: Mapping[str, object]) -> Trigger:
    """Read a Trigger from a file or the API server. Raises `InvalidResource`, one sentence per mistake."""
    return read(Trigger, written)
