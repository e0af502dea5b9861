"""The inventory's queries over the bus and over HTTP, and their answers."""

import msgspec

from schemas.registry import WireStruct

LIMIT = 1000
"""The most items in one answer."""


class InventoryQuery(WireStruct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A query: JSON with any of these fields; a field that is left out filters nothing."""

    tenant: str | None = None
    cluster: str | None = None
    node: str | None = None
    accelerator: str | None = None
    """By any of its names."""
    cloud: str | None = None
    region: str | None = None
    max_price: float | None = None
    """USD per hour, one machine; with `spot` it is the spot price that counts."""
    spot: bool = False
    """Only machines that are offered as spot."""
    offset: int = 0
    """How many items to skip: those of earlier answers."""
    limit: int = 100
    """The most items to return, 1 to 1000; fewer if they are large."""


class InventoryAnswer(WireStruct, frozen=True, kw_only=True):
    """An answer; its items are what `alate get … -o json` shows."""

    items: tuple[msgspec.Raw, ...]
    total: int
    """How many items match."""
    remaining: int
    """How many matching items come after these: ask again with a larger offset."""
