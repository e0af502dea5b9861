"""What people write, as Kubernetes kinds: one row here is one CustomResourceDefinition."""

from collections.abc import Mapping
from typing import Any

from schemas.crds.colony import AddonSpec, ClusterSpec, Colony, ColonySpec, Metadata, PoolSpec
from schemas.crds.manifest import GROUP, VERSION, Column, Crd
from schemas.crds.refusals import Refused, read
from schemas.crds.status import (
    AddonStatus,
    AttemptStatus,
    ClusterStatus,
    ColonyStatus,
    Condition,
    GpuStatus,
    OfferStatus,
    TeardownStatus,
)
from schemas.crds.structural import structural

__all__ = [
    "COLONY",
    "CRDS",
    "GROUP",
    "VERSION",
    "AddonSpec",
    "AddonStatus",
    "AttemptStatus",
    "ClusterSpec",
    "ClusterStatus",
    "Colony",
    "ColonySpec",
    "ColonyStatus",
    "Condition",
    "GpuStatus",
    "Metadata",
    "OfferStatus",
    "PoolSpec",
    "Refused",
    "TeardownStatus",
    "manifest",
    "read_colony",
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
        Column("Phase", ".status.phase"),
        Column("Ready", ".status.ready"),
        Column("Accelerators", ".status.accelerators"),
        Column("Offer", ".status.offer"),
        Column("Price/h", ".status.pricePerHour", "number"),
        Column("Age", ".metadata.creationTimestamp", "date"),
        Column("Message", ".status.message"),
        Column("Cost", ".status.costUsd", "number", priority=1),
    ),
)

CRDS = (COLONY,)
"""Every kind of ours."""


def read_colony(written: Mapping[str, object]) -> Colony:
    """Read a Colony as a person or the API server gives it. Raises `Refused`, one sentence per mistake."""
    return read(Colony, written)


def manifest() -> dict[str, Any]:
    """The Colony's CustomResourceDefinition."""
    return COLONY.manifest()
