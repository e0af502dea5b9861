"""The custom resources, Colony and Trigger: one row here is one CustomResourceDefinition."""

from typing import Any

from schemas.crds.colony import AddonSpec, AdoptSpec, ClusterSpec, Colony, ColonySpec, Metadata, PoolSpec, read_colony
from schemas.crds.manifest import GROUP, VERSION, Crd, CrdColumn
from schemas.crds.model import InvalidResource
from schemas.crds.network import NetworkSpec
from schemas.crds.rules import colony_rules
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
from schemas.crds.trigger import LimitSpec, RuleSpec, Trigger, TriggerSpec, TriggerStatus, read_trigger

__all__ = [
    "COLONY",
    "CRDS",
    "GROUP",
    "TRIGGER",
    "VERSION",
    "AddonSpec",
    "AddonStatus",
    "AdoptSpec",
    "AttemptStatus",
    "ClusterSpec",
    "ClusterStatus",
    "Colony",
    "ColonySpec",
    "ColonyStatus",
    "ConditionStatus",
    "GpuStatus",
    "InvalidResource",
    "LimitSpec",
    "Metadata",
    "NetworkSpec",
    "OfferStatus",
    "PoolSpec",
    "PoolStatus",
    "RuleSpec",
    "SkippedStatus",
    "TeardownStatus",
    "Trigger",
    "TriggerSpec",
    "TriggerStatus",
    "manifest",
    "read_colony",
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
        CrdColumn("Accepted", '.status.conditions[?(@.type=="Accepted")].status'),
        CrdColumn("Age", ".metadata.creationTimestamp", "date"),
        CrdColumn("Message", '.status.conditions[?(@.type=="Accepted")].message'),
    ),
)

CRDS = (COLONY, TRIGGER)
"""Every custom resource of alate."""


def manifest() -> dict[str, Any]:
    """The Colony's CustomResourceDefinition."""
    return COLONY.manifest()
