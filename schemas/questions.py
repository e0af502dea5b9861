"""What can be asked of the inventory over the bus, and how it answers."""

import msgspec

from schemas.wire import WireStruct

LIMIT = 1000
"""Items an answer has at most."""


class InventoryQuery(WireStruct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A question: JSON with any of these; what is left out leaves nothing out of the answer."""

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
    """Only what can be had as spot."""
    offset: int = 0
    """How many items to pass over: those of earlier answers."""
    limit: int = 100
    """How many items to give, 1 to `LIMIT`; fewer if they are large."""


class InventoryAnswer(WireStruct, frozen=True, kw_only=True):
    """An answer; what `alate get … -o json` shows of each item."""

    items: tuple[msgspec.Raw, ...]
    total: int
    """How many there are to be had."""
    remaining: int
    """How many come after these: ask again with a larger offset."""
