"""What each pool of a cluster has and lacks, as far as its nodes bear the label of their pool."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from schemas.accelerators import serves
from schemas.cluster import Placed
from schemas.inventory import ClusterSeen, PoolSeen
from schemas.placement import Placement
from services.clouds.node_config import POOL
from services.colony.accounting import by_pool, counted_for, unknown_pools, usable
from services.gateway.status.facts import Facts, current_inventory, wanted


class PoolCount(NamedTuple):
    """The nodes and accelerators of a pool; None: nothing was counted."""

    name: str
    nodes_ready: int | None
    nodes_wanted: int
    accelerators_ready: int | None
    accelerators_wanted: int


def pools(facts: Facts) -> list[PoolCount]:
    """What each pool has, in the order of the Colony."""
    there = _counted_pools(facts)
    return [
        PoolCount(
            name=name,
            nodes_ready=there[name].nodes if name in there else None,
            nodes_wanted=nodes,
            accelerators_ready=usable(there[name], (model,)) if name in there else None,
            accelerators_wanted=nodes * each,
        )
        for name, nodes, each, model in _wanted(facts)
    ]


def ready_totals(facts: Facts, state: Placed, seen: ClusterSeen) -> tuple[int, int]:
    """Ready nodes of its pools, and the accelerators on them that are of the models that were bought."""
    there = counted_for(state, seen)
    return there.nodes, usable(there, {model for _, _, _, model in _wanted(facts)})


def ignored_nodes(facts: Facts, state: Placed, seen: ClusterSeen) -> str:
    """The nodes and accelerators that do not count, and what to do about that; empty if all count."""
    told = []
    names, others = [name for name, _, _, _ in _wanted(facts)], unknown_pools(state, seen)
    if state.lent and others:
        mine, theirs = " or ".join(names), " and ".join(others)
        told.append(
            f"nodes belong to pool {theirs}, not {mine}: name the pool {others[0]} or label the nodes {POOL}={names[0]}"
        )
    there, models = counted_for(state, seen), {model for _, _, _, model in _wanted(facts)}
    strange = [
        f"{number} {model}" for model, number in there.by_model.items() if not any(serves(model, one) for one in models)
    ]
    told += [f"{', '.join(strange)} there, bought were {', '.join(sorted(models))}"] if strange else []
    return "".join(f"; {each}" for each in told)


def short_pools(facts: Facts) -> str:
    """What each of several pools lacks; empty if there is one pool, or nothing is lacking."""
    shown = pools(facts)
    return "".join(f"; pool {pool.name} has {what}" for pool in shown if len(shown) > 1 and (what := _shortage(pool)))


def _shortage(pool: PoolCount) -> str:
    if pool.nodes_ready is not None and pool.nodes_ready < pool.nodes_wanted:
        return f"{pool.nodes_ready} of {pool.nodes_wanted} nodes"
    if pool.accelerators_ready is not None and pool.accelerators_ready < pool.accelerators_wanted:
        return f"{pool.accelerators_ready} of {pool.accelerators_wanted} accelerators"
    return ""


def _counted_pools(facts: Facts) -> Mapping[str, PoolSeen]:
    state, names = facts.cluster, [name for name, _, _, _ in _wanted(facts)]
    seen = current_inventory(facts, state) if isinstance(state, Placed) else None
    if not isinstance(state, Placed) or seen is None:
        return dict.fromkeys(names, PoolSeen())
    return by_pool(state, seen, names)


def _wanted(facts: Facts) -> Iterator[tuple[str, int, int, str]]:
    """Of each pool its name, its nodes, the accelerators of one node, and their model."""
    shall = wanted(facts)
    if isinstance(shall, Placement):
        yield from ((lot.pool, lot.nodes, lot.accelerators_per_node, lot.accelerator) for lot in shall.lots)
    else:
        yield from (
            (pool.name, 0 if shall.hibernate else pool.nodes, pool.accelerators_per_node, pool.accelerator)
            for pool in shall.pools
        )
