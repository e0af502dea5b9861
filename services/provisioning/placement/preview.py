"""A plan shows what a wish would get now, what was left out, and why, without any side effect."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from schemas.entity import EPOCH
from schemas.market import CapacityRefusal, CapacitySeen
from schemas.placement import Attempt, Lot, Placement
from schemas.registry import WireStruct
from schemas.wish import Need, Wish
from services.clouds.existing_cluster import ExistingCluster
from services.market.capacity import INTERRUPTION_HOURS, REFUSAL_FACTOR, interruptions, refusal_weight
from services.provisioning.placement.adoption import rank_existing
from services.provisioning.placement.exclusions import Exclusion, exclusions
from services.provisioning.placement.predicates import CloudReach, MarketKnowledge, OfferQuery
from services.provisioning.placement.rank import MOST_RANKED, compared_price, offer_query, rank
from services.provisioning.placement.supply import OfferIndex, machines_of

ITS_PRICE = "its price"
EXISTS_ALREADY = "it stands already"


class PlacementChoice(WireStruct, frozen=True, kw_only=True):
    """One possible placement."""

    placement: Placement
    price_per_hour: float
    """USD, the whole cluster: the price paid."""
    counts_as: float
    """USD, the price it is compared by."""
    because: str
    """Why the two differ."""


class HeldMachines(WireStruct, frozen=True, kw_only=True):
    """Machines of a limited kind that other clusters have."""

    cloud: str
    region: str
    zone: str
    instance: str
    held: int
    limit: int


class RecentRefusal(WireStruct, frozen=True, kw_only=True):
    """What a region recently refused or interrupted."""

    cloud: str
    region: str
    refusal: CapacityRefusal


class PlannedPool(WireStruct, frozen=True, kw_only=True):
    """The nodes of an existing pool; empty fields are unknown."""

    pool: str
    nodes: int
    instance: str
    zone: str
    spot: bool


class PlannedAdoption(WireStruct, frozen=True, kw_only=True):
    """An existing cluster that would be adopted, as its object describes it; empty fields are unknown."""

    name: str
    cloud: str
    region: str
    kubernetes_version: str
    pools: tuple[PlannedPool, ...]
    nodes: int | None
    """Of all pools, if the object does not name them."""
    adopted_as: str
    """The cluster that has adopted it already."""


class Plan(WireStruct, frozen=True, kw_only=True):
    """What one cluster would get if it were requested now."""

    tenant: str
    name: str
    need: Need
    choices: tuple[PlacementChoice, ...] = ()
    """Best first."""
    reason: str = ""
    """Why there is none."""
    message: str = ""
    excluded: tuple[Exclusion, ...] = ()
    held: tuple[HeldMachines, ...] = ()
    refused: tuple[RecentRefusal, ...] = ()
    denied: tuple[str, ...] = ()
    """Clouds that recently refused the tenant's credential to another cluster."""
    existing: PlannedAdoption | None = None
    """The existing cluster, if one is to be adopted and exists."""


def plan(wish: Wish, market: OfferIndex, reach: CloudReach, known: MarketKnowledge) -> Plan:
    """What the wish would get, by the same ranking that launches it."""
    ranked, query = rank(wish, market, reach, known=known, most=MOST_RANKED), offer_query(wish, reach, known=known)
    return Plan(
        tenant=wish.tenant,
        name=wish.name,
        need=wish.need,
        choices=tuple(_choice(query, each) for each in ranked.placements),
        reason=ranked.reason,
        message=ranked.message,
        excluded=exclusions(query, market),
        held=tuple(_held_machines(query, market)),
        refused=tuple(_recent_refusals(query)),
        denied=tuple(sorted(known.denied)),
    )


def adoption_plan(wish: Wish, there: ExistingCluster, market: OfferIndex) -> Plan:
    """How an existing cluster would be adopted, by the same comparison that adopts it."""
    ranked = rank_existing(wish, there, market, (), EPOCH)
    return Plan(
        tenant=wish.tenant,
        name=wish.name,
        need=wish.need,
        choices=tuple(
            PlacementChoice(
                placement=each,
                price_per_hour=each.price_per_hour,
                counts_as=each.price_per_hour,
                because=EXISTS_ALREADY,
            )
            for each in ranked.placements
        ),
        reason=ranked.reason,
        message=ranked.message,
        existing=_planned_adoption(wish.need.adopts, there),
    )


def _planned_adoption(name: str, there: ExistingCluster) -> PlannedAdoption:
    return PlannedAdoption(
        name=name,
        cloud=there.cloud,
        region=there.region,
        kubernetes_version=there.version,
        pools=tuple(PlannedPool(**each._asdict()) for each in there.pools),
        nodes=there.nodes,
        adopted_as=there.adopted_as,
    )


def impossible_plan(wish: Wish, reason: str, message: str) -> Plan:
    """The plan of a wish that no back end here can serve."""
    return Plan(tenant=wish.tenant, name=wish.name, need=wish.need, reason=reason, message=message)


def knowledge_after(known: MarketKnowledge, planned: Iterable[Plan]) -> MarketKnowledge:
    """The knowledge of the market once each of these plans has got its first choice."""
    taken = Counter(known.held)
    for each in planned:
        for choice in each.choices[:1]:
            taken += machines_of(Attempt(number=1, placement=choice.placement))
    return replace(known, held=taken)


def _choice(query: OfferQuery, placement: Placement) -> PlacementChoice:
    seen = query.known.signals.get((placement.cloud, placement.region))
    reasons = (each for lot in placement.lots for each in _price_factors(query, seen, lot)) if seen else ()
    return PlacementChoice(
        placement=placement,
        price_per_hour=placement.price_per_hour,
        counts_as=compared_price(query, placement),
        because="; ".join(reasons) or ITS_PRICE,
    )


def _price_factors(query: OfferQuery, seen: CapacitySeen, lot: Lot) -> Iterator[str]:
    """Why a lot compares as more expensive than it is, for people."""
    named = f"{lot.instance} spot" if lot.spot else lot.instance
    if against := refusal_weight(seen, lot, spot=lot.spot, now=query.known.now):
        yield f"{named} was refused lately: {1 + REFUSAL_FACTOR * against:.2f} times"
    if often := interruptions(seen, lot, spot=lot.spot, now=query.known.now):
        yield f"{named} is taken away {often:.3f} times an hour: {1 + INTERRUPTION_HOURS * often:.2f} times"


def _held_machines(query: OfferQuery, market: OfferIndex) -> Iterator[HeldMachines]:
    for pool in {(each.accelerator, each.accelerators_per_node): each for each in query.need.pools}.values():
        shelf = market.by_region(pool.accelerator, pool.accelerators_per_node)
        offers = {entry.offer: None for place in sorted(shelf) for entry in shelf[place] if entry.offer.limit}
        for offer in offers:
            held = query.known.held.get((offer.cloud, offer.region, offer.zone, offer.instance), 0)
            if held and offer.limit:
                yield HeldMachines(
                    cloud=offer.cloud,
                    region=offer.region,
                    zone=offer.zone,
                    instance=offer.instance,
                    held=held,
                    limit=offer.limit,
                )


def _recent_refusals(query: OfferQuery) -> Iterator[RecentRefusal]:
    wanted = {pool.accelerator for pool in query.need.pools}
    for cloud, region in sorted(query.known.signals):
        for refusal in query.known.signals[cloud, region].refusals:
            if refusal.accelerator in wanted:
                yield RecentRefusal(cloud=cloud, region=region, refusal=refusal)
