"""The level of a cluster: totals over its nodes, and the pools that its pending pods could use."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import chain, islice
from typing import Any, NamedTuple

import msgspec

from events.kube.port import Object, Resource
from schemas.inventory import UNREADABLE, Amount, ClusterSeen, Demand, ModelAmount, NodeSeen, PoolSeen, Trouble
from services.inventory.read.amounts import held_accelerators
from services.inventory.read.labels import MODEL, DeviceReport, label_text
from services.kubernetes.malformed import raised_at
from services.kubernetes.name_list import first_names
from services.kubernetes.resources import GPU_MILLI, ResourceAmounts, is_accelerator
from services.kubernetes.scheduling import admits

NOTHING = (0, 0, 0)
NO_POOL = PoolSeen()
POOLS = 32
"""How many pools are published: twice as many as a cluster of a Colony may have, as some are being replaced."""


class PodCounts(msgspec.Struct, frozen=True):
    """How many pods hold accelerators, wait for them, or have finished."""

    live: int = 0
    finished: int = 0
    demand: tuple[Demand, ...] = ()
    """What the pods that fit on no node ask for."""
    waiting: int = 0
    """How many have no node, tried by the scheduler or not."""
    unread: int = 0
    """Pods and claims that cannot be read: each may hold accelerators."""
    awaited: frozenset[str] = frozenset()
    """The pools that the waiting pods could use."""


class NodeTotals(NamedTuple):
    """Totals over some of the nodes, or all of them."""

    nodes: int
    """Ready nodes without those of the control plane."""
    by_model: Mapping[str, int]
    resources: dict[str, Amount]
    models: dict[str, ModelAmount]
    wrong: tuple[tuple[str, str], ...]
    """Nodes with troubles, each with its first reason."""
    used: Mapping[str, int] = {}
    """Ready nodes on which accelerators are held, by model."""
    pools: Mapping[str, PoolSeen] = {}
    """By name, over the nodes that have the label of a pool."""


def node_totals(nodes: Iterable[NodeSeen]) -> NodeTotals:
    """Totals over some nodes: amounts of the ready ones, troubles of all."""
    everyone = list(nodes)
    ready = [node for node in everyone if node.ready and node.present]
    return NodeTotals(
        nodes=sum(not node.control_plane for node in ready),
        by_model=_counted(node.by_model for node in ready),
        resources=_added(node.resources for node in ready),
        models=_models([{name: _one(amount) for name, amount in node.models.items()} for node in ready]),
        wrong=tuple((node.node, node.degraded[0].reason) for node in everyone if node.degraded),
        used=Counter(node.accelerator for node in ready if any(amount.allocated for amount in node.models.values())),
        pools=_pools((node.pool, _of_pool(node)) for node in everyone if node.pool and not node.control_plane),
    )


def sum_totals(parts: Iterable[NodeTotals]) -> NodeTotals:
    """The sum of totals."""
    every = list(parts)
    return NodeTotals(
        nodes=sum(each.nodes for each in every),
        by_model=_counted(each.by_model for each in every),
        resources=_added(each.resources for each in every),
        models=_models([each.models for each in every]),
        wrong=tuple(one for each in every for one in each.wrong),
        used=sum((Counter(each.used) for each in every), Counter()),
        pools=_pools(chain.from_iterable(each.pools.items() for each in every)),
    )


def demand_of(pods: Iterable[tuple[int, str, tuple[str, ...]]]) -> tuple[Demand, ...]:
    """Demand of pending pods by accelerators, model and usable pools; the largest first."""
    alike = sorted(Counter(pods).items(), key=lambda item: (-item[0][0], *item[0][1:]))
    return tuple(
        Demand(accelerators=size, pods=number, model=model, pools=pools) for (size, model, pools), number in alike
    )


def cluster_seen(
    blank: ClusterSeen, nodes: NodeTotals, counts: PodCounts, before: ClusterSeen | None, now: datetime
) -> ClusterSeen:
    """The level of the cluster that `blank` names.

    `before` is what was published last: a cluster that was idle then has been idle since.
    """
    same = before is not None and (before.uid, before.attempt) == (blank.uid, blank.attempt)
    was_idle = before.idle_since if before is not None and same else None
    return blank.but(
        nodes=nodes.nodes,
        accelerators=sum(nodes.by_model.values()),
        by_model=dict(nodes.by_model),
        allocated=held_accelerators(nodes.models, nodes.by_model),
        pods=counts.live,
        finished=counts.finished,
        idle_since=None if counts.live or counts.unread or not any(nodes.by_model.values()) else was_idle or now,
        resources=nodes.resources,
        models=nodes.models,
        used=dict(sorted(nodes.used.items())),
        demand=counts.demand,
        pools=_with_idle_times(nodes.pools, counts, before.pools if before is not None and same else {}, now),
        degraded=tuple(_troubles(sorted(nodes.wrong))),
    )


def _with_idle_times(
    pools: Mapping[str, PoolSeen], counts: PodCounts, before: Mapping[str, PoolSeen], now: datetime
) -> dict[str, PoolSeen]:
    """Each pool with the time since when it is idle; none is idle while a pod may be on any."""
    placed = not counts.unread and counts.live == counts.waiting + sum(pool.pods for pool in pools.values())

    def with_idle_time(name: str, pool: PoolSeen) -> PoolSeen:
        idle = placed and pool.accelerators and not pool.pods and name not in counts.awaited
        since = before.get(name, NO_POOL).idle_since or now
        return pool.but(idle_since=since if idle else None)

    there = ((name, pool) for name, pool in sorted(pools.items()) if pool != NO_POOL)
    return {name: with_idle_time(name, pool) for name, pool in islice(there, POOLS)}


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
    return {name: _one(amount).but(nodes=nodes[name]) for name, amount in _added(many).items()}


def _troubles(wrong: list[tuple[str, str]]) -> Iterable[Trouble]:
    if wrong:
        named = first_names([f"{name} ({reason})" for name, reason in wrong])
        yield Trouble(reason="NodesDegraded", message=named, raw={"nodes": len(wrong)})


def unreadable_objects(found: Mapping[Resource, Iterable[str]]) -> Iterator[Trouble]:
    """One trouble for all objects that cannot be read; nothing if there are none."""
    every = tuple(chain.from_iterable(found.values()))
    if every:
        text = f"{len(every)} not counted, as it cannot be read: {first_names(every, '; ')}"
        yield Trouble(reason=UNREADABLE, message=text, raw={"objects": len(every)})


def watch_failed(error: BaseException) -> Trouble:
    """The trouble of a cluster over which our own code failed."""
    return Trouble(reason=UNREADABLE, message=f"{raised_at(error)}; it is watched again after a growing delay")


OWN = "kubernetes.io/hostname"
"""The label that differs between the nodes of a pool."""
TEMPORARY_TAINTS = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "node.cluster.x-k8s.io/")
"""Prefixes of taints that describe the present condition of a node."""


class PodNeeds(NamedTuple):
    """What a pending pod needs of a node; pods with equal needs are treated as one."""

    spec: str = ""
    """The scheduling fields of its spec, as JSON; empty if it has a node or needs no accelerator."""
    pieces: tuple[tuple[str, int], ...] = ()
    """Accelerators by resource, in thousandths."""


NO_NEEDS = PodNeeds()


class NodeTemplate(NamedTuple):
    """What a node has in common with the other nodes of its pool."""

    pool: str = ""
    """Empty if no label names it."""
    labels: Mapping[str, str] = {}
    taints: tuple[Object, ...] = ()
    pieces: Mapping[str, int] = {}
    """Accelerators by resource, in thousandths, broken ones included; empty while they are unknown."""


def pod_needs(pod: Object, amounts: ResourceAmounts) -> PodNeeds:
    """The needs of a pod; `amounts` is what it requests."""
    pieces = tuple(sorted((name, amount) for name, amount in amounts.items() if amount and is_accelerator(name)))
    spec = pod["spec"]
    if not pieces or spec.get("nodeName"):
        return NO_NEEDS
    held: dict[str, Any] = {field: spec.get(field) for field in ("nodeSelector", "affinity", "tolerations")}
    return PodNeeds(msgspec.json.encode(held, order="deterministic").decode(), pieces)


def node_template(node: Object, pool: str, report: DeviceReport, pieces: Mapping[str, int]) -> NodeTemplate:
    """The template of a node; `pieces` are whole accelerators by resource."""
    models = {label_text(device.model) for device in report.devices}
    ours = dict(zip((MODEL,), models, strict=True)) if len(models) == 1 else {}
    labels = {name: value for name, value in (node["metadata"].get("labels") or {}).items() if name != OWN}
    taints = (node.get("spec") or {}).get("taints") or ()
    lasting = tuple(taint for taint in taints if not taint["key"].startswith(TEMPORARY_TAINTS))
    whole = {name: (1_000_000 if name == GPU_MILLI else 1000) * number for name, number in pieces.items() if number}
    return NodeTemplate(pool, ours | labels, lasting, whole)


def reachable_pools(asked: PodNeeds, nodes: Iterable[NodeTemplate]) -> tuple[str, ...]:
    """The pools with a node on which the pod would fit if it were free, by name."""
    spec, found = msgspec.json.decode(asked.spec), set[str]()
    for node in nodes:
        if node.pool not in found and _offers(node, asked) and admits(spec, node.labels, node.taints):
            found.add(node.pool)
    return tuple(sorted(found))


def _offers(node: NodeTemplate, asked: PodNeeds) -> bool:
    """Also true for a node whose accelerators are unknown so far."""
    return not node.pieces or all(node.pieces.get(name, 0) >= amount for name, amount in asked.pieces)
