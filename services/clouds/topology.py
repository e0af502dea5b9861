"""Turns what was bought into a Cluster's topology: pools of a ClusterClass's workers, and its variables."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from events.errors import Denied
from events.kube.port import Object
from schemas.placement import Attempt, Lot, Placement
from schemas.wish import Pool, Wish
from services.clouds import node_config as nodes
from services.clouds.node_config import autoscaler_annotations
from services.kubernetes.version_skew import upgrade_refusal

BAD_CLASS = "BadTemplate"
NETWORK = {"pods": {"cidrBlocks": ["10.244.0.0/16"]}, "services": {"cidrBlocks": ["10.96.0.0/12"]}}


class Variable(NamedTuple):
    """How a variable of a ClusterClass gets its value."""

    value: Callable[[Placement, Lot, Pool], object]
    text: Callable[[Placement, Lot, Pool], str]
    """The value if the class declares a string."""


VARIABLES = {
    "region": Variable(lambda at, _lot, _pool: at.region, lambda at, _lot, _pool: at.region),
    "zone": Variable(lambda _at, lot, _pool: lot.zone, lambda _at, lot, _pool: lot.zone),
    "instanceType": Variable(lambda _at, lot, _pool: lot.instance, lambda _at, lot, _pool: lot.instance),
    "spot": Variable(lambda _at, lot, _pool: lot.spot, lambda _at, lot, _pool: str(lot.spot).lower()),
    "diskGiB": Variable(lambda _at, _lot, pool: nodes.disk(pool), lambda _at, _lot, pool: str(nodes.disk(pool))),
    "nodeLabels": Variable(lambda _at, _lot, pool: nodes.label_map(pool), lambda _at, _lot, pool: nodes.labels(pool)),
    "nodeTaints": Variable(lambda _at, _lot, pool: nodes.taint_maps(pool), lambda _at, _lot, pool: nodes.taints(pool)),
}
"""By the name that a ClusterClass declares; it gets those it declares, and no others."""
NEEDED = ("region", "instanceType")
"""Without these it would be another cluster than was paid for."""


def can_buy_spot(cluster_class: Object) -> bool:
    """Whether the class can be told to buy spot machines."""
    return "spot" in _declared(cluster_class)


def class_of(cluster: Object) -> str:
    """The name of a Cluster's class; empty if it has none."""
    told = cluster["spec"].get("topology", {})
    return str(told.get("classRef", {}).get("name", "") or told.get("class", ""))


def infrastructure_cloud(cluster: Object) -> str:
    """The cloud by the kind of the Cluster's infrastructure: ``aws`` of an AWSCluster; empty if it names none."""
    kind = str(cluster["spec"].get("infrastructureRef", {}).get("kind", ""))
    return kind.removesuffix("Cluster").removesuffix("Managed").lower()


def resize_patch(cluster: Object, lots: Iterable[Lot]) -> Object:
    """A merge patch that gives each pool of a topology its lot's nodes. Raises Denied without a topology."""
    nodes = {lot.pool: lot.nodes for lot in lots}
    pools = cluster["spec"].get("topology", {}).get("workers", {}).get("machineDeployments", ())
    if not pools:
        raise Denied("an adopted Cluster without a topology has its size in its own MachineDeployments: set it there")
    wanted = [each | ({"replicas": nodes[each["name"]]} if each["name"] in nodes else {}) for each in pools]
    return {"spec": {"topology": {"workers": {"machineDeployments": wanted}}}}


def upgrade_patch(cluster: Object, version: str) -> Object:
    """A merge patch that gives a topology a version. Raises Denied if that cannot follow the current one."""
    runs = cluster["spec"]["topology"]["version"]
    if why := upgrade_refusal(runs, runs, version):
        raise Denied(why)
    return {"spec": {"topology": {"version": version}}}


def topology(cluster_class: Object, wish: Wish, attempt: Attempt, version: str) -> Object:
    """The Cluster, in a version of the API (``v1beta2``, ``v1beta1``). Raises Denied if the class cannot express it."""
    _check_class(cluster_class, wish, attempt.placement.lots)
    called, first = cluster_class["metadata"]["name"], attempt.placement.lots[0]
    return {
        "apiVersion": f"cluster.x-k8s.io/{version}",
        "kind": "Cluster",
        "metadata": {"name": attempt.object_name(wish.name)},
        "spec": {
            "clusterNetwork": NETWORK,
            "topology": ({"class": called} if version == "v1beta1" else {"classRef": {"name": called}})
            | {
                "version": wish.need.kubernetes_version,
                "controlPlane": {"replicas": 1},
                "variables": list(_variables(cluster_class, wish, attempt.placement, first)),
                "workers": {
                    "machineDeployments": [_pool(cluster_class, wish, attempt, lot) for lot in attempt.placement.lots]
                },
            },
        },
    }


def _pool(cluster_class: Object, wish: Wish, attempt: Attempt, lot: Lot) -> Object:
    """Without replicas if an autoscaler sets them: Cluster API then leaves them alone (its issue 10343)."""
    told = autoscaler_annotations(lot, nodes.pool_of(wish, lot))
    return {
        "class": _worker(cluster_class, lot.pool),
        "name": lot.pool,
        "metadata": {"labels": {nodes.POOL: lot.pool, nodes.MACHINE_POOL: lot.pool}}
        | ({"annotations": told} if told else {}),
        "variables": {"overrides": list(_variables(cluster_class, wish, attempt.placement, lot))},
        **({"replicas": lot.nodes} if lot.group is None else {}),
        **({"failureDomain": lot.zone} if lot.zone else {}),
    }


def _variables(cluster_class: Object, wish: Wish, at: Placement, lot: Lot) -> Iterator[Object]:
    pool = nodes.pool_of(wish, lot)
    for name, kind in _declared(cluster_class).items():
        if name in VARIABLES:
            say = VARIABLES[name].text if kind == "string" else VARIABLES[name].value
            yield {"name": name, "value": say(at, lot, pool)}


def _declared(cluster_class: Object) -> Mapping[str, str]:
    """The type of each variable, by its name."""
    return {
        each["name"]: each.get("schema", {}).get("openAPIV3Schema", {}).get("type", "")
        for each in cluster_class["spec"].get("variables", ())
    }


def _worker(cluster_class: Object, pool: str) -> str:
    """The class of workers with the pool's name, or else the first."""
    names = [str(each["class"]) for each in _workers(cluster_class)]
    return pool if pool in names else names[0]


def _workers(cluster_class: Object) -> list[Object]:
    return list(cluster_class["spec"].get("workers", {}).get("machineDeployments", ()))


def _check_class(cluster_class: Object, wish: Wish, lots: Iterable[Lot]) -> None:
    called, declared = cluster_class["metadata"]["name"], _declared(cluster_class)
    if not _workers(cluster_class):
        raise Denied(f"ClusterClass {called} has no class of machineDeployments", BAD_CLASS)
    asked = [*NEEDED]
    asked += ["nodeLabels"] if any(nodes.pool_of(wish, lot).labels for lot in lots) else []
    asked += ["nodeTaints"] if any(pool.taints for pool in wish.need.pools) else []
    if lost := ", ".join(name for name in asked if name not in declared):
        raise Denied(f"ClusterClass {called} declares no variable {lost}: the machines could not be told", BAD_CLASS)
