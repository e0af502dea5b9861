"""What a cluster has and uses is counted from its nodes, never by adding and subtracting what changed."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import chain, islice
from typing import NamedTuple

import msgspec

from schemas.inventory import Amount, ClusterSeen, Demand, ModelAmount, NodeSeen, PoolSeen, Trouble
from services.inventory.read.device_counts import held

NOTHING = (0, 0, 0)
NO_POOL = PoolSeen()
NAMED = 3
"""How many of the nodes that are not right are named."""
POOLS = 32
"""How many pools are told apart: twice as many as a Colony's cluster may have, as one goes while another comes."""


class Takers(msgspec.Struct, frozen=True):
    """How many pods hold accelerators or wait for them, and how many did and have finished."""

    live: int = 0
    finished: int = 0
    demand: tuple[Demand, ...] = ()
    """What those ask for that found no node."""
    waiting: int = 0
    """How many have no node, whether it was looked for or not yet."""
    unread: int = 0
    """Pods and claims that cannot be read: each may hold accelerators, for all that is known."""
    awaited: frozenset[str] = frozenset()
    """The pools that those could use."""


class Part(NamedTuple):
    """What some of the nodes come to, or all of them."""

    nodes: int
    """Ready ones, those of the control plane aside."""
    by_model: Mapping[str, int]
    resources: dict[str, Amount]
    models: dict[str, ModelAmount]
    wrong: tuple[tuple[str, str], ...]
    """Nodes that are not right, each with its first reason."""
    used: Mapping[str, int] = {}
    """Ready nodes on which accelerators are held, by model."""
    pools: Mapping[str, PoolSeen] = {}
    """By name, of the nodes that say it."""


def part(nodes: Iterable[NodeSeen]) -> Part:
    """Some nodes together: amounts of the ready ones, troubles of all."""
    everyone = list(nodes)
    ready = [node for node in everyone if node.ready and node.present]
    return Part(
        nodes=sum(not node.control_plane for node in ready),
        by_model=_counted(node.by_model for node in ready),
        resources=_added(node.resources for node in ready),
        models=_models([{name: _one(amount) for name, amount in node.models.items()} for node in ready]),
        wrong=tuple((node.node, node.degraded[0].reason) for node in everyone if node.degraded),
        used=Counter(node.accelerator for node in ready if any(held.allocated for held in node.models.values())),
        pools=_pools((node.pool, _of_pool(node)) for node in everyone if node.pool and not node.control_plane),
    )


def whole(parts: Iterable[Part]) -> Part:
    """All parts together."""
    every = list(parts)
    return Part(
        nodes=sum(each.nodes for each in every),
        by_model=_counted(each.by_model for each in every),
        resources=_added(each.resources for each in every),
        models=_models([each.models for each in every]),
        wrong=tuple(one for each in every for one in each.wrong),
        used=sum((Counter(each.used) for each in every), Counter()),
        pools=_pools(chain.from_iterable(each.pools.items() for each in every)),
    )


def demanded(pods: Iterable[tuple[int, str, tuple[str, ...]]]) -> tuple[Demand, ...]:
    """What pods wait for, each by its accelerators, their model and the pools it could use; the largest first."""
    alike = sorted(Counter(pods).items(), key=lambda item: (-item[0][0], *item[0][1:]))
    return tuple(
        Demand(accelerators=size, pods=number, model=model, pools=pools) for (size, model, pools), number in alike
    )


def cluster_seen(
    blank: ClusterSeen, nodes: Part, takers: Takers, before: ClusterSeen | None, now: datetime
) -> ClusterSeen:
    """The level of the cluster that `blank` names.

    `before` is what was said last: idle since then, if it was idle then, and the same attempt's.
    """
    same = before is not None and (before.uid, before.attempt) == (blank.uid, blank.attempt)
    was_idle = before.idle_since if before is not None and same else None
    return msgspec.structs.replace(
        blank,
        nodes=nodes.nodes,
        accelerators=sum(nodes.by_model.values()),
        by_model=dict(nodes.by_model),
        allocated=held(nodes.models, nodes.by_model),
        pods=takers.live,
        finished=takers.finished,
        idle_since=None if takers.live or takers.unread or not any(nodes.by_model.values()) else was_idle or now,
        resources=nodes.resources,
        models=nodes.models,
        used=dict(sorted(nodes.used.items())),
        demand=takers.demand,
        pools=_lulled(nodes.pools, takers, before.pools if before is not None and same else {}, now),
        degraded=tuple(_troubles(sorted(nodes.wrong))),
    )


def _lulled(
    pools: Mapping[str, PoolSeen], takers: Takers, before: Mapping[str, PoolSeen], now: datetime
) -> dict[str, PoolSeen]:
    """Each pool, idle since then if it was idle then; none is, while some pod may be on any."""
    placed = not takers.unread and takers.live == takers.waiting + sum(pool.pods for pool in pools.values())

    def lulled(name: str, pool: PoolSeen) -> PoolSeen:
        idle = placed and pool.accelerators and not pool.pods and name not in takers.awaited
        since = before.get(name, NO_POOL).idle_since or now
        return msgspec.structs.replace(pool, idle_since=since if idle else None)

    there = ((name, pool) for name, pool in sorted(pools.items()) if pool != NO_POOL)
    return {name: lulled(name, pool) for name, pool in islice(there, POOLS)}


def _of_pool(node: NodeSeen) -> PoolSeen:
    if not (node.ready and node.present):
        return PoolSeen(pods=node.takers, used=min(node.takers, 1))
    return PoolSeen(
        nodes=1,
        accelerators=node.accelerators,
        by_model=node.by_model,
        pods=node.takers,
        used=min(node.takers, 1),
    )


def _pools(some: Iterable[tuple[str, PoolSeen]]) -> dict[str, PoolSeen]:
    found: dict[str, PoolSeen] = {}
    for name, more in some:
        had = found.get(name, NO_POOL)
        found[name] = PoolSeen(
            nodes=had.nodes + more.nodes,
            accelerators=had.accelerators + more.accelerators,
            by_model=_counted((had.by_model, more.by_model)),
            pods=had.pods + more.pods,
            used=had.used + more.used,
        )
    return found


def _counted(many: Iterable[Mapping[str, int]]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for each in many:
        found.update(each)
    return dict(sorted(found.items()))


def _added(many: Iterable[Mapping[str, Amount]]) -> dict[str, Amount]:
    found: dict[str, tuple[int, int, int]] = {}
    for amounts in many:
        for name, amount in amounts.items():
            total, held, free = found.get(name, NOTHING)
            found[name] = (total + amount.allocatable, held + amount.allocated, free + amount.available)
    return {
        name: Amount(allocatable=total, allocated=held, available=free)
        for name, (total, held, free) in sorted(found.items())
    }


def _one(amount: Amount) -> ModelAmount:
    return ModelAmount(allocatable=amount.allocatable, allocated=amount.allocated, available=amount.available, nodes=1)


def _models(many: list[dict[str, ModelAmount]]) -> dict[str, ModelAmount]:
    nodes: dict[str, int] = {}
    for models in many:
        for name, amount in models.items():
            nodes[name] = nodes.get(name, 0) + amount.nodes
    return {name: msgspec.structs.replace(_one(amount), nodes=nodes[name]) for name, amount in _added(many).items()}


def _troubles(wrong: list[tuple[str, str]]) -> Iterable[Trouble]:
    if wrong:
        named = ", ".join(f"{name} ({reason})" for name, reason in wrong[:NAMED])
        more = f" and {len(wrong) - NAMED} more" if len(wrong) > NAMED else ""
        yield Trouble(reason="NodesDegraded", message=f"{named}{more}", raw={"nodes": len(wrong)})
