"""What is written into a ClusterTemplate's config is what was bought, as far as the template has a place for it."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from events.errors import Denied
from schemas.placement import Attempt
from schemas.wish import Wish
from services.clouds.node_config import NETWORK, cluster_network, pool_of, worker_args
from services.kubernetes.version_skew import plain

Config = dict[str, object]
BAD_TEMPLATE = "BadTemplate"


class Chart(NamedTuple):
    """How the templates of one cloud call what is bought."""

    region: str
    instance: str
    head: str
    """The machine type of the control plane."""
    disk: str
    zone: str
    """The zone of a worker."""
    spot: Config
    """What of a worker asks for spot machines."""


CHARTS = {
    "aws": Chart("region", "instanceType", "m5.large", "rootVolumeSize", "availabilityZone", {"spotMarketOptions": {}}),
    "azure": Chart("location", "vmSize", "Standard_D4s_v5", "rootVolumeSize", "zone", {"spotVMOptions": {}}),
    "gcp": Chart("region", "instanceType", "n2-standard-4", "rootDeviceSize", "zone", {"provisioningModel": "Spot"}),
}
"""By cloud. Source: the values of k0rdent's own charts (kcm 1.11); those know no spot machines
and no zones, copies of them may."""


def config(wish: Wish, attempt: Attempt, values: Config) -> Config:
    """What a template with these values is told. Raises Denied if it has no place for what makes the cluster."""
    placement, (lot,) = attempt.placement, attempt.placement.lots
    chart = CHARTS[placement.cloud]
    zoned = (f"worker.{chart.zone}",) if pool_of(wish, lot).zones else ()
    zone = lot.zone if zoned or _at(f"worker.{chart.zone}", values) is not None else ""
    wanted: Config = {
        chart.region: placement.region,
        "controlPlaneNumber": 1,
        "workersNumber": lot.nodes,
        "controlPlane": {chart.instance: chart.head},
        "worker": {chart.instance: lot.instance}
        | _given({chart.disk: pool_of(wish, lot).disk_gib, chart.zone: zone})
        | (chart.spot if lot.spot else {}),
    } | cluster_network(wish.need.network)
    if args := worker_args(pool_of(wish, lot)):
        wanted["k0s"] = {"workerArgs": list(args)}
    if not values:
        return wanted
    needed = ("k0s.workerArgs", NETWORK, chart.region, "workersNumber", f"worker.{chart.instance}")
    return held(wanted, values, needed + zoned)


def held(wanted: Config, values: Config, needed: Iterable[str]) -> Config:
    """What of a config the values have a place for. Raises Denied if they have none for what makes the cluster."""
    said = placed(wanted, values)
    if lost := ", ".join(path for path in needed if _at(path, wanted) != _at(path, said)):
        raise Denied(f"the ClusterTemplate has no value {lost}: use one that can be told", BAD_TEMPLATE)
    return said


def buys_spot(cloud: str, values: Config) -> bool:
    """Whether a template can ask for spot machines."""
    worker = values.get("worker")
    return isinstance(worker, Mapping) and CHARTS[cloud].spot.keys() <= worker.keys()


def asks_zone(config: Config) -> bool:
    """Whether a ClusterDeployment's config names the zone of its workers."""
    return any(_at(f"worker.{chart.zone}", config) for chart in CHARTS.values())


def asks_version(config: Config) -> str:
    """The version of Kubernetes that a config names, as a Colony writes it; empty if it names none."""
    return plain(str(_at("k0s.version", config) or ""))


def placed(wanted: Config, values: Mapping[str, object]) -> Config:
    """What of a config the values have a place for; where they hold an empty mapping, anything has."""
    return {key: _inner(value, values[key]) for key, value in wanted.items() if key in values}


def _inner(value: object, known: object) -> object:
    return placed(value, known) if isinstance(value, dict) and isinstance(known, Mapping) and known else value


def _given(config: Config) -> Config:
    """What of it is not empty."""
    return {key: value for key, value in config.items() if value}


def _at(path: str, config: object) -> object:
    """What a config says under a path; None if nothing."""
    for name in path.split("."):
        config = config.get(name) if isinstance(config, Mapping) else None
    return config


def over(beneath: Mapping[str, object], config: Config) -> Config:
    """A config, with what lies beneath it where it says nothing."""
    return {**beneath, **{key: _over(beneath.get(key), value) for key, value in config.items()}}


def _over(beneath: object, value: object) -> object:
    return over(beneath, value) if isinstance(beneath, Mapping) and isinstance(value, dict) else value
