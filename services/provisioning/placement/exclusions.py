"""Why offers were left out is counted by reason, each with the offer that came nearest."""

from collections.abc import Iterable, Iterator

import msgspec

from schemas.wish import Pool
from services.provisioning.placement.offer_index import Entry, Market
from services.provisioning.placement.predicates import RULES, Ask, Rule, lot


class Exclusion(msgspec.Struct, frozen=True):
    """All ways to buy that one rule left out for one pool."""

    pool: str
    reason: str
    count: int
    nearest: str
    """The offer that came nearest, and how it misses."""


def exclusions(asked: Ask, market: Market) -> tuple[Exclusion, ...]:
    """By pool, then in the order of the rules; each way to buy the pool's accelerators counts once, where it fails."""
    return tuple(found for pool in asked.need.pools for found in _of(asked, pool, market))


def _of(asked: Ask, pool: Pool, market: Market) -> Iterator[Exclusion]:
    shelf = market.shelf(pool.accelerator, pool.accelerators_per_node)
    entries = [entry for place in sorted(shelf) for entry in shelf[place]]
    for rule in RULES:
        missing = [entry for entry in entries if not rule.holds(asked, pool, entry)]
        if missing:
            yield _excluded(asked, pool, rule, missing)
        entries = [entry for entry in entries if rule.holds(asked, pool, entry)]
    cap = asked.cap
    dear = [entry for entry in entries if cap is not None and entry.price * pool.nodes > cap]
    if dear:
        nearest = min(dear, key=lambda entry: entry.price)
        over = nearest.price * pool.nodes
        said = f"{_named(pool, nearest)}: {pool.nodes} of it cost ${over:.2f} an hour, the cap is ${cap:.2f}"
        yield Exclusion(pool.name, "PriceCap", len(dear), said)


def _excluded(asked: Ask, pool: Pool, rule: Rule, missing: Iterable[Entry]) -> Exclusion:
    listed = list(missing)
    nearest = min(listed, key=lambda entry: (rule.by(pool, entry), entry[:4]))
    said = f"{_named(pool, nearest)}: {rule.missed(asked, pool, nearest)}"
    return Exclusion(pool.name, rule.reason, len(listed), said)


def _named(pool: Pool, entry: Entry) -> str:
    bought = lot(pool, entry)
    way = " spot" if bought.spot else ""
    return f"{entry.offer.cloud} {entry.offer.region} {bought.instance}{way} at ${entry.price:.2f} a node"
