"""The rules an offer must meet to serve a pool, in order, each with its reason."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from schemas.entity import EPOCH
from schemas.inventory import Offer
from schemas.market import CapacitySeen
from schemas.placement import Lot, NodeGroup
from schemas.wish import Need, Pool, Spot
from services.market.capacity import RegionKey
from services.market.jurisdictions import country, within
from services.provisioning.placement.cooldowns import MarketSlice, market_slices
from services.provisioning.placement.supply import MachineKey, PricedOffer

RESERVED_CPU, RESERVED_CPU_SHARE = 0.08, 0.01
RESERVED_GIB, RESERVED_SHARE, EVICTION_GIB = 330 / 1024, 0.05, 100 / 1024
"""Reserved for the system and the kubelet. Source: Google Distributed Cloud, "Resources available for your workloads".
"""
DAEMONS_CPU, DAEMONS_GIB = 0.5, 1.0
"""What the DaemonSets of a GPU node request together (network, proxy, storage, device plugin, metrics): an allowance.
"""


CloudReach = Mapping[str, bool]
"""The clouds that the back end reaches, and whether it can buy spot machines there."""
SPOT_CHOICES = {Spot.NEVER: (False,), Spot.PREFERRED: (False, True), Spot.ONLY: (True,)}


@dataclass(frozen=True)
class MarketKnowledge:
    """What is known of the market beside its prices."""

    held: Mapping[MachineKey, int] = field(default_factory=dict)
    """Limited machines that clusters have already."""
    signals: Mapping[RegionKey, CapacitySeen] = field(default_factory=dict)
    """Regions that recently lacked capacity: their offers compare as more expensive, the price paid is unchanged."""
    now: datetime = EPOCH
    denied: frozenset[str] = frozenset()
    """Clouds that refused the tenant's credential to another of its clusters."""
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    """Clouds that other back ends reach, each with the name of one."""


NOTHING_KNOWN = MarketKnowledge()


@dataclass(frozen=True)
class OfferQuery:
    """One query to the market."""

    need: Need
    reach: CloudReach
    cap: float | None
    closed: frozenset[MarketSlice] = frozenset()
    """What the cluster's own failures have closed."""
    known: MarketKnowledge = NOTHING_KNOWN


class OfferRule(NamedTuple):
    """One thing an offer must be."""

    reason: str
    holds: Callable[[OfferQuery, Pool, PricedOffer], bool]
    missed: Callable[[OfferQuery, Pool, PricedOffer], str]
    """How an offer misses the rule, for people."""
    by: Callable[[Pool, PricedOffer], float] = lambda _, entry: entry.price
    """By how much, in the rule's own unit: the smallest is the nearest."""


def out_of_reach(ask: OfferQuery, cloud: str) -> str:
    """That the back end does not reach a cloud, and which one does; empty if it does."""
    if cloud in ask.reach:
        return ""
    other = ask.known.elsewhere.get(cloud)
    return f"{cloud} is reached with backend: {other}" if other else f"{cloud} is not within reach"


RULES = (
    OfferRule(
        "Cloud",
        lambda ask, _, e: e.offer.cloud in ask.reach and e.offer.cloud in (ask.need.clouds or ask.reach),
        lambda ask, _, e: out_of_reach(ask, e.offer.cloud) or f"{e.offer.cloud} is not asked for",
    ),
    OfferRule(
        "Region",
        lambda ask, _, e: not ask.need.regions or e.offer.region in ask.need.regions,
        lambda _ask, _, e: f"{e.offer.region} is not asked for",
    ),
    OfferRule(
        "Residency",
        lambda ask, _, e: not ask.need.residency or within(e.offer, ask.need.residency),
        lambda _ask, _, e: f"it is in {country(e.offer) or 'a country that is not known'}",
    ),
    OfferRule(
        "Zone",
        lambda _, pool, e: not pool.zones or e.zone in pool.zones,
        lambda _ask, _, e: f"it is in {f'zone {e.zone}' if e.zone else 'a zone that is not known'}",
    ),
    OfferRule(
        "Cpu",
        lambda _, pool, e: e.offer.cpu >= pool.cpu and (not pool.pod_cpu or cpu_for_pods(e.offer) >= pool.pod_cpu),
        lambda _ask, _, e: f"it has {e.offer.cpu:g} vCPUs, about {cpu_for_pods(e.offer):.1f} for pods",
        lambda _, e: -e.offer.cpu,
    ),
    OfferRule(
        "Memory",
        lambda _, pool, e: (
            e.offer.memory_gib >= pool.memory_gib
            and (not pool.pod_memory_gib or gib_for_pods(e.offer) >= pool.pod_memory_gib)
        ),
        lambda _ask, _, e: f"it has {e.offer.memory_gib:g} GiB, about {gib_for_pods(e.offer):.1f} for pods",
        lambda _, e: -e.offer.memory_gib,
    ),
    OfferRule(
        "Disk",
        lambda _, pool, e: e.offer.disk_gib is None or e.offer.disk_gib >= pool.disk_gib,
        lambda _ask, _, e: f"its disk has {e.offer.disk_gib:g} GiB",
        lambda _, e: -(e.offer.disk_gib or 0.0),
    ),
    OfferRule(
        "Spot",
        lambda ask, pool, e: e.spot in SPOT_CHOICES[pool.spot] and (ask.reach.get(e.offer.cloud, False) or not e.spot),
        lambda _ask, pool, e: (
            f"spot is {pool.spot}" if e.spot not in SPOT_CHOICES[pool.spot] else "the back end buys no spot"
        ),
    ),
    OfferRule(
        "Denied",
        lambda ask, _, e: e.offer.cloud not in ask.known.denied,
        lambda _ask, _, e: f"{e.offer.cloud} refused the tenant's credential lately",
    ),
    OfferRule(
        "Tried",
        lambda ask, pool, e: not ask.closed or ask.closed.isdisjoint(_slices(pool, e)),
        lambda _ask, _pool, _e: "a try failed there lately",
    ),
    OfferRule(
        "Taken",
        lambda ask, pool, e: (room := free_machines(ask, e)) is None or room >= pool.nodes,
        lambda ask, _, e: f"{free_machines(ask, e)} of {e.offer.limit} are free",
        lambda _, e: -float(e.offer.limit or 0),
    ),
)
"""In the order in which an offer is reported to miss them; its accelerators match before any rule is checked."""


def fits(ask: OfferQuery, pool: Pool, entry: PricedOffer) -> bool:
    """Whether an offer can serve a pool."""
    return all(rule.holds(ask, pool, entry) for rule in RULES)


def free_machines(ask: OfferQuery, entry: PricedOffer) -> int | None:
    """The number of free machines of an offer; None if unlimited."""
    offer = entry.offer
    stock = (offer.cloud, offer.region, entry.zone, entry.instance)
    return None if offer.limit is None else offer.limit - ask.known.held.get(stock, 0)


def new_lot(pool: Pool, entry: PricedOffer, *, scaled: bool = False) -> Lot:
    """The lot that an offer becomes for a pool; an autoscaled pool begins with its minimum of nodes."""
    return Lot(
        pool=pool.name,
        instance=entry.instance,
        zone=entry.zone,
        accelerator=entry.offer.accelerator,
        accelerators_per_node=entry.offer.accelerators,
        nodes=pool.least if scaled else pool.nodes,
        price_per_hour=entry.price,
        spot=entry.spot,
        group=node_group(pool, entry.offer) if scaled else None,
    )


def _slices(pool: Pool, entry: PricedOffer) -> tuple[MarketSlice, ...]:
    return market_slices(entry.offer.cloud, entry.offer.region, new_lot(pool, entry))


def node_group(pool: Pool, offer: Offer) -> NodeGroup:
    """The machine of a pool on this offer as an autoscaler needs to know it."""
    return NodeGroup(least=pool.least, most=pool.most, cpu=offer.cpu, memory_gib=offer.memory_gib)


def cpu_for_pods(offer: Offer) -> float:
    """Cores that Pods can request on a node, an estimate; 0 if the machine's cores are unknown."""
    return max(0.0, offer.cpu * (1 - RESERVED_CPU_SHARE) - RESERVED_CPU - DAEMONS_CPU)


def gib_for_pods(offer: Offer) -> float:
    """Memory that Pods can request on a node (GiB), an estimate; 0 if the machine's memory is unknown."""
    return max(0.0, offer.memory_gib * (1 - RESERVED_SHARE) - RESERVED_GIB - EVICTION_GIB - DAEMONS_GIB)
