"""What `alate get offers` is asked to leave out is left out in one place, after everything is known."""

from dataclasses import dataclass

from schemas.accelerators import canonical, nearest
from services.cli.bad import BadInput
from services.cli.item import Item


@dataclass(frozen=True)
class Sieve:
    """What items must be to be shown; what is not given lets everything through."""

    accelerator: str | None = None
    """By any of its names."""
    cloud: str | None = None
    region: str | None = None
    max_price: float | None = None
    """USD per hour, one machine; with `spot` it is the spot price that counts."""
    spot: bool = False
    """Only what can be had as spot."""

    def check(self, word: str) -> None:
        """Raises BadInput if the kind has no such thing, or if no accelerator is called so."""
        if self.accelerator and canonical(self.accelerator) is None:
            alike = ", ".join(nearest(self.accelerator))
            raise BadInput(f"--accelerator {self.accelerator} is not known: perhaps it is one of {alike}")
        given = {"--cloud": self.cloud, "--region": self.region, "--max-price": self.max_price, "--spot": self.spot}
        named = [option for option, value in given.items() if value not in (None, False)]
        if named and word not in ("offer", "offers"):
            raise BadInput(f"{', '.join(named)} tells offers apart, not {word}: `alate get offers` understands it")

    def lets(self, item: Item) -> bool:
        """Whether it is shown."""
        wanted = {
            "accelerator": self.accelerator and canonical(self.accelerator),
            "cloud": self.cloud,
            "region": self.region,
        }
        if any(value is not None and item.get(field) != value for field, value in wanted.items()):
            return False
        price = item.get("spot_price") if self.spot else item.get("price")
        if self.spot and price is None:
            return False
        return self.max_price is None or (price is not None and price <= self.max_price)


EVERYTHING = Sieve()
