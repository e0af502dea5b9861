"""Reads what a cluster that others created is like from its own object."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from events.kube.port import Object
from services.clouds.template_matching import MACHINES
from services.clouds.template_values import CHARTS, Chart, Config
from services.kubernetes.labels import GROUP
from services.kubernetes.version_skew import plain

INSTANCE = f"{GROUP}/instance"
"""The annotation that names the instance type under which own machines were offered."""
WORKERS = 2
"""The number of workers that k0rdent's charts default to."""


class ExistingPool(NamedTuple):
    """The workers of one pool."""

    pool: str
    """Empty: the object's only pool, which has no name."""
    nodes: int
    instance: str = ""
    zone: str = ""
    spot: bool = False


class ExistingCluster(NamedTuple):
    """What an object says of its cluster; empty fields are unknown."""

    cloud: str = ""
    region: str = ""
    pools: tuple[ExistingPool, ...] = ()
    nodes: int | None = None
    """Of all pools, if the object does not name them."""
    version: str = ""
    """Of Kubernetes, as a Colony writes it."""
    adopted_as: str = ""
    """The cluster that has adopted it already."""


def read_deployment(config: Config, cloud: str) -> ExistingCluster:
    """Reads a ClusterDeployment from the values of its template."""
    chart = CHARTS.get(cloud)
    if chart is not None:
        return ExistingCluster(cloud, str(config.get(chart.region, "")), (_workers(config, chart),))
    machines = config.get(MACHINES)
    if not isinstance(machines, list):
        return ExistingCluster(cloud)
    return ExistingCluster(cloud, pools=(ExistingPool("", len(machines), _instance_annotation(config)),))


def read_cluster(cluster: Object, cloud: str) -> ExistingCluster:
    """Reads a Cluster from its topology; without one, only its number of workers."""
    topology = cluster["spec"].get("topology")
    if topology is None:
        return ExistingCluster(cloud, nodes=cluster.get("status", {}).get("workers", {}).get("desiredReplicas"))
    told = _values(topology.get("variables", ()))
    pools = topology.get("workers", {}).get("machineDeployments", ())
    return ExistingCluster(
        cloud,
        str(told.get("region", "")),
        tuple(_pool(each, told) for each in pools),
        version=plain(topology["version"]),
    )


def _workers(config: Config, chart: Chart) -> ExistingPool:
    worker, nodes = config.get("worker"), config.get("workersNumber", WORKERS)
    said: Mapping[str, object] = worker if isinstance(worker, Mapping) else {}
    spot = all(key in said and value in ({}, said[key]) for key, value in chart.spot.items())
    nodes = nodes if isinstance(nodes, int) else WORKERS
    return ExistingPool("", nodes, str(said.get(chart.instance, "")), str(said.get(chart.zone, "")), spot=spot)


def _instance_annotation(config: Config) -> str:
    notes = config.get("clusterAnnotations")
    return str(notes.get(INSTANCE, "")) if isinstance(notes, Mapping) else ""


def _pool(pool: Object, beneath: Mapping[str, object]) -> ExistingPool:
    told = {**beneath, **_values(pool.get("variables", {}).get("overrides", ()))}
    return ExistingPool(
        pool["name"],
        pool.get("replicas", 1),
        str(told.get("instanceType", "")),
        pool.get("failureDomain", ""),
        spot=str(told.get("spot", "")).lower() == "true",
    )


def _values(variables: Iterable[Object]) -> Mapping[str, object]:
    return dict(_pairs(variables))


def _pairs(variables: Iterable[Object]) -> Iterator[tuple[str, object]]:
    return ((each["name"], each["value"]) for each in variables)
