"""How fast a request is answered: its ten best of 10,000 offers, against one bare sort of the same list."""

import random
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from schemas.inventory import Offer
from schemas.wish import Need, Pool, Wish
from services.provisioning.placement.rank import rank
from services.provisioning.placement.supply import OfferIndex
from tests.bench.figure import Figure, Goal, alternate, of_pairs

OFFERS = 10_000
BEST = 10
PAIRS = 30
GOAL = Goal("ours", 1000.0)
"""Microseconds."""
CLOUDS = ("aws", "azure", "gcp", "lambda", "nebius")
REGIONS = 30
ACCELERATORS = ("A100", "B200", "H100", "H200", "L4")
COUNTS = (1, 2, 4, 8)


def offers(accelerators: tuple[str, ...], counts: tuple[int, ...]) -> list[Offer]:
    """As many offers as are asked for, at prices nobody would guess, the same in every run."""
    dice = random.Random(4711)  # noqa: S311 - prices, no secrets
    return [
        Offer(
            cloud=CLOUDS[n % len(CLOUDS)],
            region=f"region-{n // len(CLOUDS) % REGIONS}",
            zone=f"z{n % 3}",
            instance=f"machine-{n}",
            accelerator=accelerators[dice.randrange(len(accelerators))],
            accelerators=counts[dice.randrange(len(counts))],
            price=round(dice.uniform(1, 100), 4),
            spot_price=round(dice.uniform(1, 100), 4),
        )
        for n in range(OFFERS)
    ]


async def measure(_: Path) -> list[Figure]:
    """A market of many kinds, and the worst one there is: all 10,000 are of the kind that is asked for."""
    return [
        await _figure("20 kinds", offers(ACCELERATORS, COUNTS)),
        await _figure("1 kind", offers(("H100",), (8,))),
    ]


async def _figure(what: str, listed: list[Offer]) -> Figure:
    pool = Pool(name="gpu", accelerator="H100", accelerators_per_node=8, nodes=2)
    need = Need(pools=(pool,), max_price_per_hour=150.0)
    wish = Wish(tenant="t", colony="c", cluster="a", uid="u", generation=1, need=need)
    market, reach = OfferIndex.from_offers(listed), dict.fromkeys(CLOUDS, True)
    pairs = await alternate(
        lambda: _timed(lambda: rank(wish, market, reach, most=BEST)),
        lambda: _timed(lambda: sorted(listed, key=lambda offer: offer.price)),
        PAIRS,
    )
    return of_pairs(f"ten best of 10,000 offers, {what}", "µs", pairs, GOAL)


async def _timed(work: Callable[[], object]) -> float:
    began = perf_counter()
    work()
    return (perf_counter() - began) * 1e6
