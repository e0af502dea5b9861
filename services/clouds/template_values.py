"""Writes what was bought into a ClusterTemplate's config, as far as the template has a place for it."""

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
    """The names that one cloud's templates use."""

    region: str
    instance: str
    head: str
    """The machine type of the control plane."""
    disk: str
    zone: str
    """The zone of a worker."""
    spot: Config
    """The value of a worker that asks for spot machines."""


CHARTS = {
    "aws": Chart("region", "instanceType", "m5.large", "rootVolumeSize", "availabilityZone", {"spotMarketOptions": {}}),
    "azure": Chart("location", "vmSize", "Standard_D4s_v5", "rootVolumeSize", "zone", {"spotVMOptions": {}}),
    "gcp": Chart("region", "instanceType", "n2-standard-4", "rootDeviceSize", "zone", {"provisioningModel": "Spot"}),
}
"""By cloud. Source: the values of k0rdent's own charts (kcm 1.11); those have no spot machines and no zones, copies of
them may."""


def config(wish: Wish, attempt: Attempt, values: Config) -> Config:
    """The config for a template with these values. Raises Denied if it has no place for what makes the cluster."""
    placement, (lot,) = attempt.placement, attempt.placement.lots
    chart = CHARTS[placement.cloud]
    zoned = (f"worker.{chart.zone}",) if pool_of(wish, lot).zones else ()
    zone = lot.zone if zoned or _value_at(f"worker.{chart.zone}", values) is not None else ""
    wanted: Config = {
        chart.region: placement.region,
        "controlPlaneNumber": 1,
        "workersNumber": lot.nodes,
        "controlPlane": {chart.instance: chart.head},
        "worker": {chart.instance: lot.instance}
        | _non_empty({chart.disk: pool_of(wish, lot).disk_gib, chart.zone: zone})
        | (chart.spot if lot.spot else {}),
    } | cluster_network(wish.need.network)
    if args := worker_args(pool_of(wish, lot)):
        wanted["k0s"] = {"workerArgs": list(args)}
    if not values:
        return wanted
    needed = ("k0s.workerArgs", NETWORK, chart.region, "workersNumber", f"worker.{chart.instance}")
    return checked_config(wanted, values, needed + zoned)


def checked_config(wanted: Config, values: Config, needed: Iterable[str]) -> Config:
    """The part of a config that the values have a place for. Raises Denied if a needed part has none."""
    said = known_values(wanted, values)
    if lost := ", ".join(path for path in needed if _value_at(path, wanted) != _value_at(path, said)):
        raise Denied(f"the ClusterTemplate has no value {lost}: use one that can be told", BAD_TEMPLATE)
    return said


def can_buy_spot(cloud: str, values: Config) -> bool:
    """Whether a template can ask for spot machines."""
    worker = values.get("worker")
    return isinstance(worker, Mapping) and CHARTS[cloud].spot.keys() <= worker.keys()


def names_zone(config: Config) -> bool:
    """Whether a ClusterDeployment's config names the zone of its workers."""
    return any(_value_at(f"worker.{chart.zone}", config) for chart in CHARTS.values())


def named_version(config: Config) -> str:
    """The version of Kubernetes that a config names, as a Colony writes it; empty if it names none."""
    return plain(str(_value_at("k0s.version", config) or ""))


def known_values(wanted: Config, values: Mapping[str, object]) -> Config:
    """The part of a config that the values have a place for; an empty mapping has a place for anything."""
    return {key: _known_value(value, values[key]) for key, value in wanted.items() if key in values}


def _known_value(value: object, known: object) -> object:
    return known_values(value, known) if isinstance(value, dict) and isinstance(known, Mapping) and known else value


def _non_empty(config: Config) -> Config:
    """The config without empty values."""
    return {key: value for key, value in config.items() if value}


def _value_at(path: str, config: object) -> object:
    """The value of a config at a path; None if there is none."""
    for name in path.split("."):
        config = config.get(name) if isinstance(config, Mapping) else None
    return config
