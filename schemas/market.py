"""What is known of the market beyond its offers, so that old prices and sold-out places are seen for what they are."""

from datetime import datetime

from schemas.inventory import OWNER, Level
from schemas.registry import level
from schemas.wire import WireStruct


@level("inventory.catalog.{cloud}", owner=OWNER)
class CatalogSeen(Level, frozen=True, kw_only=True):
    """The price catalog of one cloud: stale while it cannot be read, its last good offers stay served.

    `observed_at` is as of when its prices are; `degraded` tells of the file, then of the first bad rows.
    """

    cloud: str
    offers: int = 0
    refused: int = 0
    """Rows that were left out."""
    digest: str = ""
    """Of the text that was read last and could be used."""


class CapacityRefusal(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """One kind of machine that a cloud did not give when it was asked for."""

    reason: str
    """NoCapacity, Quota, or Interrupted: spot machines that were taken away."""
    instance: str
    accelerator: str
    zone: str = ""
    spot: bool = False
    at: datetime
    attempt: str
    """Whose: ``<uid of the cluster's incarnation>/<number>`` (``/<interruption>``); told twice, it counts once."""


@level("inventory.capacity.{cloud}.{region}", owner=OWNER)
class CapacitySeen(WireStruct, frozen=True, kw_only=True):
    """Where one region had no room lately; what it weighs now is half of that `half_life_seconds` ago."""

    schema_version: int = 1
    cloud: str
    region: str
    half_life_seconds: float
    refusals: tuple[CapacityRefusal, ...] = ()
    """Oldest first."""
