"""A Trigger is a rule that people write: which webhook asks for which Colony, and which one lets it go."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from schemas.crds.colony import Metadata
from schemas.crds.model import CrdModel, Label, ListMap, PositiveDuration
from schemas.crds.status import ConditionStatus

CelExpression = Annotated[str, Field(min_length=1, max_length=2048)]
"""CEL over ``event`` (the CloudEvent's attributes), ``data`` (its payload) and ``hook`` (where it came in)."""

CelTemplate = Annotated[str, Field(min_length=1, max_length=2048)]
"""Text in which every ``${…}`` is such an expression."""


class LimitSpec(CrdModel):
    """How many requests at most."""

    requests: Annotated[int, Field(ge=1, le=10_000)]
    """So many at once, and on average in the time."""
    every: PositiveDuration
    """The time."""


class RuleSpec(CrdModel):
    """One line: when this, then that."""

    name: Label
    """Its name within the Trigger."""
    when: CelExpression
    """CEL; only true is true."""
    then: Literal["Request", "Release"]
    """Request makes or amends the Colony, Release lets it go."""
    colony: (
        Annotated[dict[str, object], Field(json_schema_extra={"x-kubernetes-preserve-unknown-fields": True})] | None
    ) = None
    """A Colony's spec, whose texts may hold ``${…}``; one that is nothing else keeps its value's type."""
    once: CelTemplate | None = None
    """What of the event makes it the same wish: counted once in a week. Not said: the event itself."""

    @model_validator(mode="after")
    def _whole(self) -> "RuleSpec":
        if (self.then == "Request") != (self.colony is not None):
            raise ValueError("colony must be given with then: Request, and with nothing else")
        return self


class TriggerSpec(CrdModel):
    """What is listened to, and what comes of it."""

    provider: Label | None = None
    """Only webhooks of this kind, e.g. github."""
    endpoint: Label | None = None
    """Only webhooks of this endpoint."""
    name: CelTemplate
    """The Colony's name: the same from every event of the same work, e.g. ``ci-${data.workflow_run.id}``."""
    rules: Annotated[list[RuleSpec], Field(min_length=1, max_length=16), ListMap()]
    """All that hold are followed."""
    limit: LimitSpec | None = None
    """Requests beyond it are dead letters, releases are never too many; not said: 20 in an hour."""


class TriggerStatus(CrdModel):
    """Whether the Trigger is followed."""

    conditions: Annotated[list[ConditionStatus], ListMap("type")] = Field(default_factory=list)
    """Accepted: its rules are followed; Invalid: they cannot be read; TooCostly: off until the Trigger is changed."""


class Trigger(CrdModel):
    """A webhook asks for a Colony, another one lets it go: rules over what comes in at the edge of its namespace."""

    api_version: Literal["alate.dev/v1alpha1"] = "alate.dev/v1alpha1"
    kind: Literal["Trigger"] = "Trigger"
    metadata: Metadata
    spec: TriggerSpec
    """What is listened to, and what comes of it."""
    status: TriggerStatus | None = None
    """Whether it is followed."""
