"""The custom resources, Colony and Trigger: one row here is one CustomResourceDefinition."""

from collections.abc import Mapping
from typing import Any

from schemas.crds.colony import AddonSpec, AdoptSpec, ClusterSpec, Colony, ColonySpec, Metadata, PoolSpec
from schemas.crds.errors import InvalidResource, read
from schemas.crds.manifest import GROUP, VERSION, Crd, CrdColumn
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
from schemas.crds.trigger import LimitSpec, RuleSpec, Trigger, TriggerSpec, TriggerStatus

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


def read_colony(written: Mapping[str, object]) -> Colony:
    """Read a Colony from a file or the API server. Raises `InvalidResource`, one sentence per mistake."""
    return read(Colony, written)


def manifest() -> dict[str, Any]:
    """The Colony's CustomResourceDefinition."""
    return COLONY.manifest()


def read_trigger(written: Mapping[str, object]) -> Trigger:
    """Read a Trigger from a file or the API server. Raises `InvalidResource`, one sentence per mistake."""
    return read(Trigger, written)
