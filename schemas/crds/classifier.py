"""The ClusterClassifier's spec: rules that give clusters labels from what they are and run."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from schemas.crds.addons import ATOMIC
from schemas.crds.colony import Metadata
from schemas.crds.model import CrdModel, Label, ListMap, read
from schemas.crds.nodes import LabelKey
from schemas.crds.sources import ObjectName
from schemas.crds.status import ConditionStatus, StatusModel

OURS = "alate.dev"


def _free(key: str) -> str:
    domain = key.rpartition("/")[0]
    if domain == OURS or domain.endswith(f".{OURS}"):
        raise ValueError(f"must not be in {domain}: alate itself acts on such labels")
    return key


ClassifierLabels = Annotated[
    dict[Annotated[LabelKey, AfterValidator(_free)], Annotated[str, Field(max_length=1024)]],
    Field(min_length=1, max_length=16),
]
"""Labels, the value of each a text or a template."""


class ClassifierObjectSpec(CrdModel):
    """An object of each cluster."""

    variable: Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[a-z][A-Za-z0-9_]*$")]
    """Its name in rules: objects.VARIABLE."""
    api_version: Annotated[str, Field(min_length=1, max_length=253)]
    """Its apiVersion."""
    kind: Annotated[str, Field(min_length=1, max_length=63)]
    """Its kind; any that the clusters serve, but for Secrets."""
    name: ObjectName
    """Its name."""
    namespace: Label | None = None
    """Its namespace; default: the first that has one of this name."""

    @model_validator(mode="after")
    def _no_secret(self) -> "ClassifierObjectSpec":
        if (self.api_version, self.kind) == ("v1", "Secret"):
            raise ValueError("kind must not be Secret: what it holds could come into labels")
        return self


class ClassifierRuleSpec(CrdModel):
    """Labels, and when a cluster has them."""

    when: Annotated[str, Field(min_length=1, max_length=2048)]
    """CEL over `cluster`, as it is without the labels of classifiers, and `objects`, those that are there; it must give
    true or false."""
    labels: ClassifierLabels
    """What it has then; a value may be a template, such as v{{ cluster.version.minor }}. Of two rules of a classifier
    for the same label the first that holds counts."""


class ClusterClassifierSpec(CrdModel):
    """The rules."""

    rules: Annotated[list[ClassifierRuleSpec], Field(min_length=1, max_length=64, json_schema_extra=ATOMIC)]
    """The rules; each is asked of every cluster."""
    objects: Annotated[list[ClassifierObjectSpec], Field(max_length=16), ListMap("variable")] = Field(
        default_factory=list
    )
    """Objects of clusters that rules speak of; of one larger than 16 KiB they see the metadata alone."""


class ClusterClassifierStatus(StatusModel):
    """The state of a classifier."""

    observed_generation: int | None = None
    """The generation of the spec that this status refers to."""
    matched: int | None = None
    """How many clusters have a label of it."""
    conditions: Annotated[list[ConditionStatus], Field(max_length=16), ListMap("type")] = Field(default_factory=list)
    """Ready: all rules could be evaluated for every cluster; Stalled: it must be changed; Conflicting: it would give a
    label another value than the cluster has by itself or by another classifier."""


class ClusterClassifier(CrdModel):
    """Rules that give clusters of all namespaces labels from what they are and run, so that profiles select them."""

    api_version: Literal["alate.dev/v1alpha1"] = "alate.dev/v1alpha1"
    kind: Literal["ClusterClassifier"] = "ClusterClassifier"
    metadata: Metadata
    spec: ClusterClassifierSpec
    """The rules."""
    status: ClusterClassifierStatus | None = None
    """The current state."""


def read_classifier(written: Mapping[str, object]) -> ClusterClassifier:
    """Read a ClusterClassifier from a file or the API server. Raises `InvalidResource`."""
    return read(ClusterClassifier, written)
