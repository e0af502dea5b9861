"""A change to a running cluster is written into its Colony as one patch, which fails where that has moved since."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from events.kube_port import Object
from schemas import durations

Patch = list[dict[str, Any]]
"""Steps of a JSON patch."""
MANAGER = "alate-scale"
"""The field manager: whoever applies the Colony takes the number over again."""


class TooLate(ValueError):
    """The cluster ends; the message says what to do instead."""


class NoSuchPool(ValueError):
    """The Colony has no such cluster, or the cluster no such pool; the message says which there are."""


def scaling(colony: Object, cluster: str, nodes: Mapping[str, int]) -> Patch:
    """The JSON patch that gives pools of a cluster so many nodes. Raises NoSuchPool."""
    place = _cluster(colony, cluster)
    pools = colony["spec"]["clusters"][place]["pools"]
    return [step for name, wanted in nodes.items() for step in _steps(place, pools, cluster, name, wanted)]


def hibernating(colony: Object, cluster: str, *, hibernate: bool) -> Patch:
    """The JSON patch that lets a cluster hibernate, or wakes it. Raises NoSuchPool."""
    at = f"/spec/clusters/{_cluster(colony, cluster)}"
    return [
        _is(at, cluster),
        {"op": "add", "path": f"{at}/hibernate", "value": hibernate},
    ]


def upgrading(colony: Object, cluster: str, version: str) -> Patch:
    """The JSON patch that gives a cluster another version of Kubernetes. Raises NoSuchPool."""
    at = f"/spec/clusters/{_cluster(colony, cluster)}"
    return [
        _is(at, cluster),
        {"op": "add", "path": f"{at}/kubernetesVersion", "value": version},
    ]


def extending(colony: Object, cluster: str, life: timedelta) -> Patch:
    """The JSON patch that lets a cluster live so long from when it was first ready; empty where it lives longer.

    Raises NoSuchPool, TooLate.
    """
    place = _cluster(colony, cluster)
    written = colony["spec"]["clusters"][place].get("timeToLive")
    if written is None or durations.parse(written) >= life:
        return []
    if _ends(colony, cluster):
        raise TooLate(f"cluster {cluster} of Colony {colony['metadata']['name']} is on its way out: ask for a new one")
    at = f"/spec/clusters/{place}"
    return [
        _is(at, cluster),
        {"op": "test", "path": f"{at}/timeToLive", "value": written},
        {"op": "replace", "path": f"{at}/timeToLive", "value": durations.write(life)},
    ]


def _ends(colony: Object, name: str) -> bool:
    """Its teardown has begun: another time to live would found it anew once it is gone."""
    shown: Object = next((each for each in colony.get("status", {}).get("clusters", ()) if each["name"] == name), {})
    going = shown.get("teardown", {}).get("phase", "Armed") not in ("Armed", "Warned")
    return going or shown.get("phase") in ("Releasing", "Released")


def _cluster(colony: Object, name: str) -> int:
    return _place(colony["spec"]["clusters"], name, f"Colony {colony['metadata']['name']} has no cluster {name}")


def _steps(place: int, pools: list[Object], cluster: str, name: str, wanted: int) -> Iterator[dict[str, Any]]:
    pool = _place(pools, name, f"cluster {cluster} has no pool {name}")
    at = f"/spec/clusters/{place}"
    yield _is(at, cluster)
    yield _is(f"{at}/pools/{pool}", name)
    yield {"op": "replace", "path": f"{at}/pools/{pool}/nodes", "value": wanted}


def _is(at: str, name: str) -> dict[str, Any]:
    """The step that fails where something else has moved there since."""
    return {"op": "test", "path": f"{at}/name", "value": name}


def _place(items: list[Object], name: str, complaint: str) -> int:
    names = [item["name"] for item in items]
    if name not in names:
        raise NoSuchPool(f"{complaint}: it has {', '.join(names)}")
    return names.index(name)
