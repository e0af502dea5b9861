"""Levels about the market beside its offers: price catalogs and recent refusals."""

from datetime import datetime

from schemas.inventory import OWNER, Level
from schemas.registry import WireStruct, level


@level("inventory.catalog.{cloud}", owner=OWNER)
class CatalogSeen(Level, frozen=True, kw_only=True):
    """The price catalog of one cloud: stale while it cannot be read, its last good offers stay served.

    `observed_at` is as of when its prices are; `degraded` tells of the file, then of the first bad rows.
    """

    cloud: str
    offers: int = 0
    refused: int = 0
    """Number of invalid rows that were left out."""
    digest: str = ""
    """Digest of the last usable text."""


class CapacityRefusal(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """A machine type that a cloud refused when it was requested."""

    reason: str
    """NoCapacity, Quota, or Interrupted: spot machines that were taken away."""
    instance: str
    accelerator: str
    zone: str = ""
    spot: bool = False
    at: datetime
    attempt: str
    """``<uid of the cluster's incarnation>/<number>`` (``/<interruption>``); duplicates count once."""


@level("inventory.capacity.{cloud}.{region}", owner=OWNER)
class CapacitySeen(WireStruct, frozen=True, kw_only=True):
    """Recent refusals of one region; a refusal's weight halves every `halfLifeSeconds`."""

    schema_version: int = 1
    cloud: str
    region: str
    half_life_seconds: float
    refusals: tuple[CapacityRefusal, ...] = ()
    """Oldest first."""
