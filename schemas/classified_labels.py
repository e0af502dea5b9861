"""The labels that classifiers give one cluster, as the add-on service publishes them."""

from datetime import datetime

import msgspec

from schemas.addon import OWNER
from schemas.entity import EPOCH
from schemas.registry import WireStruct, level


class ClassifiedLabel(WireStruct, frozen=True):
    """The value of a label, and where it comes from."""

    value: str
    classifier: str
    """The name of the ClusterClassifier."""


@level("observed.labels.{tenant}.{cluster}", owner=OWNER)
class ClassifiedLabels(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """The labels that a cluster has besides its own."""

    cluster: str
    uid: str
    """The cluster's incarnation."""
    labels: dict[str, ClassifiedLabel] = msgspec.field(default_factory=dict)
    as_of: datetime = EPOCH
    """When they were found to differ from the ones before (UTC)."""
