"""Counts why offers were left out, by reason, each with the nearest offer."""

from collections.abc import Iterable, Iterator

from schemas.registry import WireStruct
from schemas.wish import Pool
from services.provisioning.placement.predicates import RULES, OfferQuery, OfferRule, new_lot
from services.provisioning.placement.supply import OfferIndex, PricedOffer


class Exclusion(WireStruct, frozen=True):
    """The offers that one rule left out for one pool."""

    pool: str
    reason: str
    count: int
    nearest: str
    """The nearest offer, and how it misses."""


def exclusions(query: OfferQuery, market: OfferIndex) -> tuple[Exclusion, ...]:
    """By pool, then in the order of the rules; each offer with the pool's accelerators counts where it fails first."""
    return tuple(found for pool in query.need.pools for found in _of_pool(query, pool, market))


def _of_pool(query: OfferQuery, pool: Pool, market: OfferIndex) -> Iterator[Exclusion]:
    shelf = market.by_region(pool.accelerator, pool.accelerators_per_node)
    entries = [entry for place in sorted(shelf) for entry in shelf[place]]
    for rule in RULES:
        missing = [entry for entry in entries if not rule.holds(query, pool, entry)]
        if missing:
            yield _exclusion(query, pool, rule, missing)
        entries = [entry for entry in entries if rule.holds(query, pool, entry)]
    cap = query.cap
    dear = [entry for entry in entries if cap is not None and entry.price * pool.nodes > cap]
    if dear:
        nearest = min(dear, key=lambda entry: entry.price)
        over = nearest.price * pool.nodes
        text = f"{_offer_name(pool, nearest)}: {pool.nodes} of it cost ${over:.2f} an hour, the cap is ${cap:.2f}"
        yield Exclusion(pool.name, "PriceCap", len(dear), text)


def _exclusion(query: OfferQuery, pool: Pool, rule: OfferRule, missing: Iterable[PricedOffer]) -> Exclusion:
    listed = list(missing)
    nearest = min(listed, key=lambda entry: (rule.by(pool, entry), entry[:4]))
    text = f"{_offer_name(pool, nearest)}: {rule.missed(query, pool, nearest)}"
    return Exclusion(pool.name, rule.reason, len(listed), text)


def _offer_name(pool: Pool, entry: PricedOffer) -> str:
    bought = new_lot(pool, entry)
    way = " spot" if bought.spot else ""
    return f"{entry.offer.cloud} {entry.offer.region} {bought.instance}{way} at ${entry.price:.2f} a node"
