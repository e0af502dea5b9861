"""A change to a running cluster is written into its Colony as one patch, which fails where that has moved since."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from events.kube.port import Object
from schemas import durations

Patch = list[dict[str, Any]]
"""Steps of a JSON patch."""
MANAGER = "alate-scale"
"""The field manager: whoever applies the Colony takes the number over again."""


class Untimely(ValueError):
    """The cluster ends, or has not ended; the message says what to do instead."""


class NoSuchPool(ValueError):
    """The Colony has no such cluster, or the cluster no such pool; the message says which there are."""


def scaling(colony: Object, cluster: str, nodes: Mapping[str, int]) -> Patch:
    """The JSON patch that gives pools of a cluster so many nodes. Raises NoSuchPool, Untimely."""
    place = _living(colony, cluster)
    pools = _spec(colony, place)["pools"]
    return [step for name, wanted in nodes.items() for step in _steps(place, pools, cluster, name, wanted)]


def hibernating(colony: Object, cluster: str, *, hibernate: bool) -> Patch:
    """The JSON patch that lets a cluster hibernate, or wakes it. Raises NoSuchPool, Untimely."""
    at = f"/spec/clusters/{_living(colony, cluster)}"
    return [
        _is(at, cluster),
        {"op": "add", "path": f"{at}/hibernate", "value": hibernate},
    ]


def upgrading(colony: Object, cluster: str, version: str) -> Patch:
    """The JSON patch that gives a cluster another version of Kubernetes. Raises NoSuchPool, Untimely."""
    at = f"/spec/clusters/{_living(colony, cluster)}"
    return [
        _is(at, cluster),
        {"op": "add", "path": f"{at}/kubernetesVersion", "value": version},
    ]


def extending(colony: Object, cluster: str, life: timedelta) -> Patch:
    """The JSON patch that lets a cluster live so long from when it was first ready; empty where it lives longer.

    Raises NoSuchPool, Untimely.
    """
    place = _living(colony, cluster)
    written = _spec(colony, place).get("timeToLive")
    if written is None or durations.parse(written) >= life:
        return []
    at = f"/spec/clusters/{place}"
    return [
        _is(at, cluster),
        {"op": "test", "path": f"{at}/timeToLive", "value": written},
        {"op": "replace", "path": f"{at}/timeToLive", "value": durations.write(life)},
    ]


def recreating(colony: Object, cluster: str, now: datetime) -> Patch:
    """The JSON patch that creates a cluster again which has ended. Raises NoSuchPool, Untimely."""
    place = _cluster(colony, cluster)
    if not _ends(colony, cluster):
        raise Untimely(f"{colony['metadata']['name']}/{cluster} has not ended: there is nothing to do")
    at, written = f"/spec/clusters/{place}", _spec(colony, place).get("askedAt")
    later = max(now, datetime.fromisoformat(written) + timedelta(seconds=1)) if written else now
    return [
        _is(at, cluster),
        {"op": "add", "path": f"{at}/askedAt", "value": f"{later.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"},
    ]


def _ends(colony: Object, name: str) -> str:
    """How far its end is, for people; empty where that has not begun."""
    shown: Object = next((each for each in colony.get("status", {}).get("clusters", ()) if each["name"] == name), {})
    if shown.get("phase") == "Released":
        return "has ended"
    going = shown.get("teardown", {}).get("phase", "Armed") not in ("Armed", "Warned")
    return "is being released" if going or shown.get("phase") == "Releasing" else ""


def _living(colony: Object, name: str) -> int:
    """The place of a cluster that does not end. Raises NoSuchPool, Untimely."""
    place = _cluster(colony, name)
    if ends := _ends(colony, name):
        of = colony["metadata"]["name"]
        raise Untimely(f"{of}/{name} {ends}: `alate recreate {of}/{name}` creates it again")
    return place


def _spec(colony: Object, place: int) -> Object:
    found: Object = colony["spec"]["clusters"][place]
    return found


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
