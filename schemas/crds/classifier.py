"""The ClusterClassifier's spec: rules that give clusters labels from what they are."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from schemas.crds.addons import ATOMIC
from schemas.crds.colony import Metadata
from schemas.crds.model import CrdModel, ListMap, read
from schemas.crds.nodes import LabelKey
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


class ClassifierRuleSpec(CrdModel):
    """Labels, and when a cluster has them."""

    when: Annotated[str, Field(min_length=1, max_length=2048)]
    """CEL over `cluster`, as it is without the labels of classifiers; it must give true or false."""
    labels: ClassifierLabels
    """What it has then; a value may be a template, such as v{{ cluster.version.minor }}. Of two rules of a classifier
    for the same label the first that holds counts."""


class ClusterClassifierSpec(CrdModel):
    """The rules."""

    rules: Annotated[list[ClassifierRuleSpec], Field(min_length=1, max_length=64, json_schema_extra=ATOMIC)]
    """The rules; each is asked of every cluster."""


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
    """Rules that give the clusters of all namespaces labels from what they are, so that profiles select them."""

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
