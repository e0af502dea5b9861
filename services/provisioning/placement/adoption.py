"""Compares an existing cluster with what a Colony asks for, to adopt it or to recall an attempt."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from schemas.attempts import AttemptRecovered, AttemptUnrecoverable
from schemas.inventory import Offer
from schemas.placement import Attempt, Lot, NodeGroup, Placement, Ranked
from schemas.wish import Adopt, Need, Pool, Wish
from services.clouds.existing_cluster import ExistingCluster, ExistingPool
from services.market.capacity import RegionKey
from services.market.jurisdictions import within
from services.provisioning.placement.cooldowns import NOTHING_TO_ADOPT, still_counts
from services.provisioning.placement.supply import OfferIndex

UNPRICED = "its price is unknown since its history was lost"

UNKNOWN = "unknown"
"""The cloud or region of a cluster that names none, if the Colony does not name exactly one."""
DOES_NOT_FIT = "DoesNotFit"


def nothing_to_adopt(adopt: Adopt, message: str) -> Ranked:
    """The answer if there is no cluster to adopt; `message` says why."""
    message = f"{message}: adopt one that is there, or leave adopt out"
    return Ranked((), NOTHING_TO_ADOPT, message, adopt.name)


def rank_existing(
    wish: Wish, there: ExistingCluster, market: OfferIndex, tried: Sequence[Attempt], now: datetime
) -> Ranked:
    """The existing cluster as the only placement, or why it cannot be adopted (now)."""
    if failed := [attempt for attempt in tried if still_counts(attempt, now)]:
        return Ranked((), failed[-1].reason, f"it could not be adopted: {failed[-1].message or failed[-1].reason}")
    place = (only_or_unknown(there.cloud, wish.need.clouds), only_or_unknown(there.region, wish.need.regions))
    if there.adopted_as not in ("", wish.name):
        return Ranked((), "AlreadyExists", f"{wish.need.adopts} is adopted already, as {there.adopted_as}")
    if missed := next(_mismatches(wish.need, there, place), ""):
        return Ranked((), DOES_NOT_FIT, missed)
    priced = [
        (pool, stood, node_price(wish.need, pool, stood, market, place))
        for pool, stood in paired_pools(wish.need, there)
    ]
    if unknown := [stood for _, stood, price in priced if price is None]:
        return Ranked((), "NoPrice", _unpriced(unknown[0], place))
    lots = tuple(existing_lot(pool, stood, price) for pool, stood, price in priced if price is not None)
    found = Placement(cloud=place[0], region=place[1], lots=lots)
    cap = wish.need.max_price_per_hour
    if cap is not None and found.price_per_hour > cap:
        return Ranked((), "PriceCap", f"it costs ${found.price_per_hour:.2f} an hour, the cap is ${cap:.2f}")
    return Ranked((found,))


def _mismatches(need: Need, there: ExistingCluster, place: RegionKey) -> Iterator[str]:
    """Each difference between the need and the existing cluster, for people."""
    cloud, region = place
    if cloud not in (need.clouds or (cloud,)) or region not in (need.regions or (region,)):
        yield f"it is in {cloud} {region}, which is not asked for"
    if need.residency and not within(_offer_at(place), need.residency):
        yield f"it is in {cloud} {region}, which is not known to be in {', '.join(need.residency)}"
    wanted = need.kubernetes_version
    if there.version not in ("", wanted):
        yield f"it has Kubernetes {there.version}, not {wanted}: write that version, and upgrade it then"
    pools, stand = {pool.name for pool in need.pools}, {stood.pool for stood in there.pools}
    if there.pools and (len(pools) != len(there.pools) or stand not in ({""}, pools)):
        yield f"it has {_pool_names(there)}: write these pools"
    for pool, stood in paired_pools(need, there):
        if stood.nodes != pool.nodes:
            yield f"its pool {pool.name} has {stood.nodes} nodes, not {pool.nodes}: write so many, and scale it then"
    if there.nodes not in (None, sum(pool.nodes for pool in need.pools)):
        yield f"it has {there.nodes} workers, not {sum(pool.nodes for pool in need.pools)}: write pools of so many"


def paired_pools(need: Need, there: ExistingCluster) -> Iterator[tuple[Pool, ExistingPool]]:
    """Each pool of the need with the existing one; with what is asked for, if the object names no pools."""
    for pool in need.pools:
        found = [stood for stood in there.pools if stood.pool in ("", pool.name)]
        yield pool, found[0] if found else ExistingPool(pool.name, pool.nodes)


def node_price(need: Need, pool: Pool, stood: ExistingPool, market: OfferIndex, place: RegionKey) -> float | None:
    """USD per hour of one node; None if it is unknown."""
    if need.adopt is not None and need.adopt.node_price_per_hour is not None:
        return need.adopt.node_price_per_hour
    entries = market.by_region(pool.accelerator, pool.accelerators_per_node).get(place, ())
    fit = (e for e in entries if (e.instance, e.spot) == (stood.instance, stood.spot) and stood.zone in ("", e.zone))
    return next((entry.price for entry in fit), None)


def existing_lot(pool: Pool, stood: ExistingPool, price: float) -> Lot:
    return Lot(
        pool=pool.name,
        instance=stood.instance,
        zone=stood.zone,
        accelerator=pool.accelerator,
        accelerators_per_node=pool.accelerators_per_node,
        nodes=stood.nodes,
        price_per_hour=price,
        spot=stood.spot,
    )


def only_or_unknown(known: str, allowed: tuple[str, ...]) -> str:
    return known or (allowed[0] if len(allowed) == 1 else UNKNOWN)


def _offer_at(place: RegionKey) -> Offer:
    return Offer(cloud=place[0], region=place[1], instance="", accelerator="", accelerators=0, price=0.0)


def _unpriced(stood: ExistingPool, place: RegionKey) -> str:
    machine = f"{stood.instance}{' spot' if stood.spot else ''} in {' '.join(place)}" if stood.instance else "its nodes"
    return f"no catalog has a price for {machine} with these accelerators: say adopt.nodePricePerHour, or mend the pool"


def _pool_names(there: ExistingCluster) -> str:
    named = ", ".join(stood.pool for stood in there.pools if stood.pool)
    return f"the pools {named}" if named else "one pool"


def recall(
    wish: Wish, attempt: int, there: ExistingCluster, market: OfferIndex
) -> AttemptRecovered | AttemptUnrecoverable:
    """What an attempt was launched for, read from its object, at today's prices."""
    unknown = sorted({stood.pool for stood in there.pools} - {pool.name for pool in wish.need.pools} - {""})
    if unknown:
        return AttemptUnrecoverable(attempt, f"it has the pool {', '.join(unknown)}, which is not asked for")
    need = _existing_need(wish.need, there)
    place = (only_or_unknown(there.cloud, need.clouds), only_or_unknown(there.region, need.regions))
    lots = tuple(_recalled_lot(need, pool, stood, market, place) for pool, stood in paired_pools(need, there))
    fixed = market.control_plane(place)
    placement = Placement(cloud=place[0], region=place[1], lots=lots, control_plane_per_hour=fixed)
    message = "" if all(each.price_per_hour for each in lots) else UNPRICED
    return AttemptRecovered(attempt, placement, need, message)


def _existing_need(need: Need, there: ExistingCluster) -> Need:
    """The need with the pools, nodes and version that exist."""
    standing = {stood.pool for stood in there.pools} or {""}
    pools = tuple(pool for pool in need.pools if standing == {""} or pool.name in standing)
    asleep = bool(there.pools) and not any(stood.nodes for stood in there.pools)
    known = need.but(pools=pools, hibernate=asleep, kubernetes_version=there.version or need.kubernetes_version)
    if asleep:
        return known
    sized = tuple(_existing_pool(need, pool, stood) for pool, stood in paired_pools(known, there))
    return known.but(pools=sized)


def _existing_pool(need: Need, pool: Pool, stood: ExistingPool) -> Pool:
    """The pool in its existing size, unless it scales by itself: then its size says nothing about the need."""
    return pool if pool.elastic or need.autoscaled else pool.but(nodes=stood.nodes)


def _recalled_lot(need: Need, pool: Pool, stood: ExistingPool, market: OfferIndex, place: RegionKey) -> Lot:
    made = existing_lot(pool, stood, node_price(need, pool, stood, market, place) or 0.0)
    group = NodeGroup(least=pool.least, most=pool.most) if need.autoscaled else None
    return made.but(group=group)
