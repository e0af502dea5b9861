"""Filters items."""

from dataclasses import dataclass

from schemas.accelerators import canonical, nearest
from services.queries.item import Item


class InvalidFilter(ValueError):
    """The filter is invalid; the message says why in one sentence."""


@dataclass(frozen=True)
class ItemFilter:
    """What items must be to be shown; what is not given lets everything through."""

    accelerator: str | None = None
    """By any of its names."""
    cloud: str | None = None
    region: str | None = None
    max_price: float | None = None
    """USD per hour, one machine; with `spot` it is the spot price that counts."""
    spot: bool = False
    """Only what can be had as spot."""

    def check(self) -> None:
        """Raises Unfit if no accelerator is called so."""
        if self.accelerator and canonical(self.accelerator) is None:
            alike = ", ".join(nearest(self.accelerator))
            raise InvalidFilter(f"accelerator {self.accelerator} is not known: perhaps it is one of {alike}")

    def lets(self, item: Item) -> bool:
        """Whether it is shown."""
        wanted = {
            "accelerator": self.accelerator and canonical(self.accelerator),
            "cloud": self.cloud,
            "region": self.region,
        }
        if any(value is not None and item.get(field) != value for field, value in wanted.items()):
            return False
        price = item.get("spotPrice") if self.spot else item.get("price")
        if self.spot and price is None:
            return False
        return self.max_price is None or (price is not None and price <= self.max_price)


EVERYTHING = ItemFilter()
