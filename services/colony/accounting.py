"""What is there is held against what there shall be, pool by pool as far as nodes tell which pool they are of."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from schemas.accelerators import serves
from schemas.cluster import ClusterState, Holding, Placed
from schemas.inventory import ClusterSeen, PoolSeen
from schemas.placement import Attempt, Lot, Placement

NOTHING = PoolSeen()


class Lacking(NamedTuple):
    """What is short, all pools together: what one has too much of is no help to another."""

    nodes: int
    accelerators: int


def unmet(state: Placed, seen: ClusterSeen) -> Lacking:
    """What is short of what is enough now: of all that was bought, or of what stays while that changes."""
    resizing, lots = state.resizing, state.attempt.placement.lots
    if resizing is None:
        return short(state, seen, [lot.but(nodes=lot.least) for lot in lots])
    if not resizing.least:
        return Lacking(max(resizing.nodes - seen.nodes, 0), max(resizing.accelerators - seen.accelerators, 0))
    return short(state, seen, [lot.but(nodes=resizing.least.get(lot.pool, 0)) for lot in lots])


def short(state: Placed, seen: ClusterSeen, lots: Iterable[Lot]) -> Lacking:
    """What is short of these lots; nodes that do not tell their pool may be of any."""
    pools = _told(state, seen)
    free = _untold(seen, pools)
    nodes, gaps = -free.nodes, Counter[str]()
    for lot in lots:
        there = pools.get(lot.pool, NOTHING)
        nodes += max(lot.nodes - there.nodes, 0)
        gaps[lot.accelerator] += max(lot.nodes * lot.accelerators_per_node - serving(there, lot.accelerator), 0)
    return Lacking(max(nodes, 0), _unfilled(gaps, _by_model(free)))


def serving(there: PoolSeen | ClusterSeen, wanted: str) -> int:
    """How many of what is there are, or may be, of the model that was bought."""
    return usable(there, (wanted,))


def _unfilled(gaps: Mapping[str, int], free: Mapping[str, int]) -> int:
    """What is still short once what is free has gone where it serves: first where it is just what was bought."""
    left, short = Counter(free), Counter(gaps)
    for exactly in (True, False):
        for wanted in gaps:
            for model in free:
                if model == wanted if exactly else serves(model, wanted):
                    taken = max(min(left[model], short[wanted]), 0)
                    left[model], short[wanted] = left[model] - taken, short[wanted] - taken
    return short.total()


def _by_model(there: PoolSeen | ClusterSeen) -> Counter[str]:
    """What is told of no model counts under the empty name."""
    told = Counter(there.by_model)
    told[""] += there.accelerators - told.total()
    return told


def by_pool(state: Placed, seen: ClusterSeen, names: Sequence[str]) -> Mapping[str, PoolSeen]:
    """What each of these pools has; none, where that cannot be told."""
    pools = _told(state, seen)
    free = _untold(seen, pools)
    if len(names) == 1:
        return {names[0]: _sum((free, pools.get(names[0], NOTHING)))}
    return {} if free.nodes else {name: pools.get(name, NOTHING) for name in names}


def own(state: Placed, seen: ClusterSeen) -> PoolSeen:
    """What is there of its pools, and what may be: nodes that say they are of another pool are none of it."""
    pools = _told(state, seen)
    names = {lot.pool for lot in state.attempt.placement.lots}
    return _sum((_untold(seen, pools), *(pool for name, pool in pools.items() if name in names)))


def elsewhere(state: Placed, seen: ClusterSeen) -> tuple[str, ...]:
    """The pools that ready nodes say they are of, and that it has not."""
    names = {lot.pool for lot in state.attempt.placement.lots}
    return tuple(sorted(name for name, pool in _told(state, seen).items() if pool.nodes and name not in names))


def usable(there: PoolSeen | ClusterSeen, wanted: Iterable[str]) -> int:
    """How many of what is there are, or may be, of any of the models that were bought."""
    bought = tuple(wanted)
    return sum(number for model, number in _by_model(there).items() if any(serves(model, one) for one in bought))


def idle_since(state: Placed, seen: ClusterSeen, name: str) -> datetime | None:
    """Since when nothing of a pool is used: nothing of the whole cluster, where any node may be of it."""
    pools = _told(state, seen)
    if name not in pools or _untold(seen, pools).nodes:
        return seen.idle_since
    return pools[name].idle_since or seen.idle_since


def _told(state: Placed, seen: ClusterSeen) -> Mapping[str, PoolSeen]:
    """What was counted by pool; others may have given the nodes of an adopted cluster names of their own."""
    names = {lot.pool for lot in state.attempt.placement.lots}
    return {name: pool for name, pool in seen.pools.items() if name in names or not state.attempt.adopts}


def _untold(seen: ClusterSeen, pools: Mapping[str, PoolSeen]) -> PoolSeen:
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
    """USD of all that was billed before, and of a placement from `since` until `now`."""
    hours = max(0.0, (now - (since or now)).total_seconds() / 3600)  # the clock may have been set back since
    return round(state.cost_usd + placement.price_per_hour * hours, 6)


def held(state: ClusterState) -> tuple[Attempt | None, datetime | None]:
    """What it has, or may have, and since when that costs what its placement says."""
    return (state.attempt, state.billed_since) if isinstance(state, Holding) else (None, None)


def so_far(state: ClusterState, now: datetime) -> float:
    """USD of all that the cluster has cost until now."""
    attempt, since = held(state)
    return cost(state, attempt.placement, since, now) if attempt else state.cost_usd
