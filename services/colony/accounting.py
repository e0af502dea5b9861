"""What a cluster costs, and what it lacks pool by pool, by its state and by what was counted."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from schemas.accelerators import serves
from schemas.cluster import ClusterState, Holding, Placed
from schemas.inventory import ClusterSeen, PoolSeen
from schemas.placement import Attempt, Lot, Placement

NO_NODES = PoolSeen()


class Shortfall(NamedTuple):
    """What is missing, all pools together: a surplus of one pool does not help another."""

    nodes: int
    accelerators: int


def missing_now(state: Placed, seen: ClusterSeen) -> Shortfall:
    """What is missing of what is enough now: of all that was bought, or during a resize of what remains."""
    resizing, lots = state.resizing, state.attempt.placement.lots
    if resizing is None:
        return missing_from(state, seen, [lot.but(nodes=lot.least) for lot in lots])
    if not resizing.least:
        return Shortfall(max(resizing.nodes - seen.nodes, 0), max(resizing.accelerators - seen.accelerators, 0))
    return missing_from(state, seen, [lot.but(nodes=resizing.least.get(lot.pool, 0)) for lot in lots])


def missing_from(state: Placed, seen: ClusterSeen, lots: Iterable[Lot]) -> Shortfall:
    """What is missing of these lots; nodes without a pool label count for any of them."""
    pools = _named_pools(state, seen)
    free = _unnamed_nodes(seen, pools)
    nodes, gaps = -free.nodes, Counter[str]()
    for lot in lots:
        there = pools.get(lot.pool, NO_NODES)
        nodes += max(lot.nodes - there.nodes, 0)
        gaps[lot.accelerator] += max(lot.nodes * lot.accelerators_per_node - serving(there, lot.accelerator), 0)
    return Shortfall(max(nodes, 0), _unfilled(gaps, _by_model(free)))


def serving(there: PoolSeen | ClusterSeen, wanted: str) -> int:
    """The number of accelerators that are, or may be, of the model that was bought."""
    return usable(there, (wanted,))


def _unfilled(gaps: Mapping[str, int], free: Mapping[str, int]) -> int:
    """What is still missing once free accelerators are assigned: exact models first."""
    left, short = Counter(free), Counter(gaps)
    for exactly in (True, False):
        for wanted in gaps:
            for model in free:
                if model == wanted if exactly else serves(model, wanted):
                    taken = max(min(left[model], short[wanted]), 0)
                    left[model], short[wanted] = left[model] - taken, short[wanted] - taken
    return short.total()


def _by_model(there: PoolSeen | ClusterSeen) -> Counter[str]:
    """Accelerators of an unknown model count under the empty name."""
    counts = Counter(there.by_model)
    counts[""] += there.accelerators - counts.total()
    return counts


def by_pool(state: Placed, seen: ClusterSeen, names: Sequence[str]) -> Mapping[str, PoolSeen]:
    """What each of these pools has; empty if that cannot be known."""
    pools = _named_pools(state, seen)
    free = _unnamed_nodes(seen, pools)
    if len(names) == 1:
        return {names[0]: _sum((free, pools.get(names[0], NO_NODES)))}
    return {} if free.nodes else {name: pools.get(name, NO_NODES) for name in names}


def counted_for(state: Placed, seen: ClusterSeen) -> PoolSeen:
    """What was counted of its pools, and what may be theirs: nodes labelled with another pool are left out."""
    pools = _named_pools(state, seen)
    names = {lot.pool for lot in state.attempt.placement.lots}
    return _sum((_unnamed_nodes(seen, pools), *(pool for name, pool in pools.items() if name in names)))


def unknown_pools(state: Placed, seen: ClusterSeen) -> tuple[str, ...]:
    """The pools that ready nodes are labelled with, and that the cluster does not have."""
    names = {lot.pool for lot in state.attempt.placement.lots}
    return tuple(sorted(name for name, pool in _named_pools(state, seen).items() if pool.nodes and name not in names))


def usable(there: PoolSeen | ClusterSeen, wanted: Iterable[str]) -> int:
    """The number of accelerators that are, or may be, of any of the models that were bought."""
    bought = tuple(wanted)
    return sum(number for model, number in _by_model(there).items() if any(serves(model, one) for one in bought))


def idle_since(state: Placed, seen: ClusterSeen, name: str) -> datetime | None:
    """Since when a pool is idle; since when the whole cluster is, if any node may be of the pool."""
    pools = _named_pools(state, seen)
    if name not in pools or _unnamed_nodes(seen, pools).nodes:
        return seen.idle_since
    return pools[name].idle_since or seen.idle_since


def _named_pools(state: Placed, seen: ClusterSeen) -> Mapping[str, PoolSeen]:
    """The counts by pool; the nodes of an adopted cluster may carry pool names of others."""
    names = {lot.pool for lot in state.attempt.placement.lots}
    return {name: pool for name, pool in seen.pools.items() if name in names or not state.attempt.adopts}


def _unnamed_nodes(seen: ClusterSeen, pools: Mapping[str, PoolSeen]) -> PoolSeen:
    """What may be of any pool."""
    named = _sum(pools.values())
    models = _by_model(seen)
    models.subtract(_by_model(named))
    return PoolSeen(
        nodes=seen.nodes - named.nodes, accelerators=seen.accelerators - named.accelerators, by_model=dict(models)
    )


def _sum(some: Iterable[PoolSeen]) -> PoolSeen:
    every = tuple(some)
    models = sum((_by_model(one) for one in every), Counter[str]())
    return PoolSeen(
        nodes=sum(one.nodes for one in every),
        accelerators=sum(one.accelerators for one in every),
        by_model={model: number for model, number in sorted(models.items()) if model},
    )


def cost(state: ClusterState, placement: Placement, since: datetime | None, now: datetime) -> float:
    """USD billed before, and a placement's price from `since` until `now`."""
    hours = max(0.0, (now - (since or now)).total_seconds() / 3600)  # the clock may have been set back since
    return round(state.cost_usd + placement.price_per_hour * hours, 6)


def billed_attempt(state: ClusterState) -> tuple[Attempt | None, datetime | None]:
    """The attempt that is billed, and since when at the price of its placement."""
    return (state.attempt, state.billed_since) if isinstance(state, Holding) else (None, None)


def so_far(state: ClusterState, now: datetime) -> float:
    """USD that the cluster has cost until now."""
    attempt, since = billed_attempt(state)
    return cost(state, attempt.placement, since, now) if attempt else state.cost_usd
