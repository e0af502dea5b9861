"""How far each pool of a cluster has come is told from what was counted on it, as far as its nodes tell their pool."""

from collections.abc import Iterator, Mapping

from schemas.cluster import Founded
from schemas.crds import PoolStatus
from schemas.inventory import PoolSeen
from schemas.placement import Placement
from services.counts import by_pool
from services.gateway.facts import Facts, counted, wanted


def pools(facts: Facts) -> list[PoolStatus]:
    """Each pool of a cluster, in the order of the Colony."""
    there = _there(facts)
    return [
        PoolStatus(
            name=name,
            nodes_ready=there[name].nodes if name in there else None,
            nodes_wanted=nodes,
            accelerators_ready=there[name].accelerators if name in there else None,
            accelerators_wanted=nodes * each,
        )
        for name, nodes, each in _wanted(facts)
    ]


def short_pools(facts: Facts) -> str:
    """Which of several pools are short of what, for people; empty where that is one pool's or nobody's matter."""
    shown = pools(facts)
    return "".join(f"; pool {pool.name} has {what}" for pool in shown if len(shown) > 1 and (what := _short(pool)))


def _short(pool: PoolStatus) -> str:
    if pool.nodes_ready is not None and pool.nodes_ready < pool.nodes_wanted:
        return f"{pool.nodes_ready} of {pool.nodes_wanted} nodes"
    if pool.accelerators_ready is not None and pool.accelerators_ready < pool.accelerators_wanted:
        return f"{pool.accelerators_ready} of {pool.accelerators_wanted} accelerators"
    return ""


def _there(facts: Facts) -> Mapping[str, PoolSeen]:
    state, names = facts.cluster, [name for name, _, _ in _wanted(facts)]
    seen = counted(facts, state) if isinstance(state, Founded) else None
    if not isinstance(state, Founded) or seen is None:
        return dict.fromkeys(names, PoolSeen())
    return by_pool(state, seen, names)


def _wanted(facts: Facts) -> Iterator[tuple[str, int, int]]:
    """Each pool's name, its nodes, and the accelerators of one of them."""
    shall = wanted(facts)
    if isinstance(shall, Placement):
        yield from ((lot.pool, lot.nodes, lot.accelerators_per_node) for lot in shall.lots)
    else:
        yield from (
            (pool.name, 0 if shall.hibernate else pool.nodes, pool.accelerators_per_node) for pool in shall.pools
        )
