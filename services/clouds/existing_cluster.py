"""What a cluster that others made is like is read off its own object, as far as that tells it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from events.kube.port import Object
from services.clouds.template_matching import MACHINES
from services.clouds.template_values import CHARTS, Chart, Config
from services.kubernetes.labels import GROUP
from services.kubernetes.version_skew import plain

INSTANCE = f"{GROUP}/instance"
"""The annotation that says as what one's own machines were offered."""
WORKERS = 2
"""What k0rdent's charts make where nothing is said."""


class Stood(NamedTuple):
    """The workers of one pool."""

    pool: str
    """Empty: the object's only one, which has no name."""
    nodes: int
    instance: str = ""
    zone: str = ""
    spot: bool = False


class Standing(NamedTuple):
    """What an object tells of its cluster; empty where it does not."""

    cloud: str = ""
    region: str = ""
    pools: tuple[Stood, ...] = ()
    nodes: int | None = None
    """Of all pools, where those are not told."""
    version: str = ""
    """Of Kubernetes, as a Colony writes it."""
    taken_by: str = ""
    """The cluster as which it is taken in already."""


def of_deployment(config: Config, cloud: str) -> Standing:
    """A ClusterDeployment's, by the values its template is told."""
    chart = CHARTS.get(cloud)
    if chart is not None:
        return Standing(cloud, str(config.get(chart.region, "")), (_workers(config, chart),))
    machines = config.get(MACHINES)
    if not isinstance(machines, list):
        return Standing(cloud)
    return Standing(cloud, pools=(Stood("", len(machines), _offered_as(config)),))


def of_cluster(cluster: Object, cloud: str) -> Standing:
    """A Cluster's: of its topology; one without tells no more than how many workers there shall be."""
    topology = cluster["spec"].get("topology")
    if topology is None:
        return Standing(cloud, nodes=cluster.get("status", {}).get("workers", {}).get("desiredReplicas"))
    told = _told(topology.get("variables", ()))
    pools = topology.get("workers", {}).get("machineDeployments", ())
    return Standing(
        cloud,
        str(told.get("region", "")),
        tuple(_pool(each, told) for each in pools),
        version=plain(topology["version"]),
    )


def _workers(config: Config, chart: Chart) -> Stood:
    worker, nodes = config.get("worker"), config.get("workersNumber", WORKERS)
    said: Mapping[str, object] = worker if isinstance(worker, Mapping) else {}
    spot = all(key in said and value in ({}, said[key]) for key, value in chart.spot.items())
    nodes = nodes if isinstance(nodes, int) else WORKERS
    return Stood("", nodes, str(said.get(chart.instance, "")), str(said.get(chart.zone, "")), spot=spot)


def _offered_as(config: Config) -> str:
    notes = config.get("clusterAnnotations")
    return str(notes.get(INSTANCE, "")) if isinstance(notes, Mapping) else ""


def _pool(pool: Object, beneath: Mapping[str, object]) -> Stood:
    told = {**beneath, **_told(pool.get("variables", {}).get("overrides", ()))}
    return Stood(
        pool["name"],
        pool.get("replicas", 1),
        str(told.get("instanceType", "")),
        pool.get("failureDomain", ""),
        spot=str(told.get("spot", "")).lower() == "true",
    )


def _told(variables: Iterable[Object]) -> Mapping[str, object]:
    return dict(_pairs(variables))


def _pairs(variables: Iterable[Object]) -> Iterator[tuple[str, object]]:
    return ((each["name"], each["value"]) for each in variables)
