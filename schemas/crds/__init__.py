"""The custom resources: one row here is one CustomResourceDefinition."""

from typing import Any

from schemas.crds.addons import AddonSpec, addon_ref
from schemas.crds.classifier import (
    ClusterClassifier,
    ClusterClassifierSpec,
    ClusterClassifierStatus,
    read_classifier,
)
from schemas.crds.colony import AdoptSpec, ClusterSpec, Colony, ColonySpec, Metadata, PoolSpec, read_colony
from schemas.crds.manifest import GROUP, VERSION, Crd, CrdColumn
from schemas.crds.model import InvalidResource
from schemas.crds.network import NetworkSpec
from schemas.crds.profile import (
    AddonProfile,
    AddonProfileSpec,
    AddonProfileStatus,
    ClusterSelectorSpec,
    LabelRequirement,
    read_profile,
)
from schemas.crds.rules import colony_rules
from schemas.crds.sources import SourceSpec
from schemas.crds.status import (
    AddonStatus,
    AttemptStatus,
    ClusterStatus,
    ColonyStatus,
    ConditionStatus,
    GpuStatus,
    OfferStatus,
    PoolStatus,
    SkippedStatus,
    TeardownStatus,
)
from schemas.crds.structural import structural
from schemas.crds.trigger import (
    HeardSpec,
    LimitSpec,
    ObjectSelectorSpec,
    RuleSpec,
    Trigger,
    TriggerSpec,
    TriggerStatus,
    WatchedObjectsSpec,
    read_trigger,
)

__all__ = [
    "CLASSIFIER",
    "CLUSTER_PROFILE",
    "COLONY",
    "CRDS",
    "GROUP",
    "PROFILE",
    "TRIGGER",
    "VERSION",
    "AddonProfile",
    "AddonProfileSpec",
    "AddonProfileStatus",
    "AddonSpec",
    "AddonStatus",
    "AdoptSpec",
    "AttemptStatus",
    "ClusterClassifier",
    "ClusterClassifierSpec",
    "ClusterClassifierStatus",
    "ClusterSelectorSpec",
    "ClusterSpec",
    "ClusterStatus",
    "Colony",
    "ColonySpec",
    "ColonyStatus",
    "ConditionStatus",
    "GpuStatus",
    "HeardSpec",
    "InvalidResource",
    "LabelRequirement",
    "LimitSpec",
    "Metadata",
    "NetworkSpec",
    "ObjectSelectorSpec",
    "OfferStatus",
    "PoolSpec",
    "PoolStatus",
    "RuleSpec",
    "SkippedStatus",
    "SourceSpec",
    "TeardownStatus",
    "Trigger",
    "TriggerSpec",
    "TriggerStatus",
    "WatchedObjectsSpec",
    "addon_ref",
    "manifest",
    "read_classifier",
    "read_colony",
    "read_profile",
    "read_trigger",
    "structural",
]

COLONY = Crd(
    kind="Colony",
    plural="colonies",
    short="col",
    spec=ColonySpec,
    status=ColonyStatus,
    doc=(Colony.__doc__ or "").strip(),
    columns=(
        CrdColumn("Phase", ".status.phase"),
        CrdColumn("Ready", ".status.ready"),
        CrdColumn("Accelerators", ".status.accelerators"),
        CrdColumn("Offer", ".status.offer"),
        CrdColumn("Price/h", ".status.pricePerHour", "number"),
        CrdColumn("Age", ".metadata.creationTimestamp", "date"),
        CrdColumn("Message", ".status.message"),
        CrdColumn("Expires", ".status.expiresAt", "string", priority=1),
        CrdColumn("Cost", ".status.costUsd", "number", priority=1),
    ),
    rules=tuple(colony_rules()),
)

TRIGGER = Crd(
    kind="Trigger",
    plural="triggers",
    short="trg",
    spec=TriggerSpec,
    status=TriggerStatus,
    doc=(Trigger.__doc__ or "").strip(),
    columns=(
        CrdColumn("Provider", ".spec.provider"),
        CrdColumn("Endpoint", ".spec.endpoint"),
        CrdColumn("Ready", '.status.conditions[?(@.type=="Ready")].status'),
        CrdColumn("Age", ".metadata.creationTimestamp", "date"),
        CrdColumn("Message", '.status.conditions[?(@.type=="Ready")].message'),
    ),
)

PROFILE_COLUMNS = (
    CrdColumn("Matched", ".status.matched", "integer"),
    CrdColumn("Ready", ".status.ready", "integer"),
    CrdColumn("Accepted", '.status.conditions[?(@.type=="Accepted")].status'),
    CrdColumn("Age", ".metadata.creationTimestamp", "date"),
    CrdColumn("Message", '.status.conditions[?(@.type=="Ready")].message'),
)
PROFILE, CLUSTER_PROFILE = (
    Crd(
        kind=f"{prefix}AddonProfile",
        plural=f"{prefix.lower()}addonprofiles",
        short=short,
        spec=AddonProfileSpec,
        status=AddonProfileStatus,
        doc=doc,
        columns=PROFILE_COLUMNS,
        namespaced=not prefix,
    )
    for prefix, short, doc in (
        ("", "aprof", (AddonProfile.__doc__ or "").strip()),
        ("Cluster", "caprof", "Add-ons for the clusters of all namespaces that it selects."),
    )
)

CLASSIFIER = Crd(
    kind="ClusterClassifier",
    plural="clusterclassifiers",
    short="clsf",
    spec=ClusterClassifierSpec,
    status=ClusterClassifierStatus,
    doc=(ClusterClassifier.__doc__ or "").strip(),
    columns=(
        CrdColumn("Matched", ".status.matched", "integer"),
        CrdColumn("Ready", '.status.conditions[?(@.type=="Ready")].status'),
        CrdColumn("Conflicting", '.status.conditions[?(@.type=="Conflicting")].status'),
        CrdColumn("Age", ".metadata.creationTimestamp", "date"),
        CrdColumn("Message", '.status.conditions[?(@.type=="Ready")].message'),
    ),
    namespaced=False,
)

CRDS = (COLONY, TRIGGER, PROFILE, CLUSTER_PROFILE, CLASSIFIER)
"""Every custom resource of alate."""


def manifest() -> dict[str, Any]:
    """The Colony's CustomResourceDefinition."""
    return COLONY.manifest()
