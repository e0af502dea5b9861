"""Writes a change to a running cluster as a JSON patch of its Colony, which fails if that has changed since."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from events.kube.port import Object
from schemas import durations

Patch = list[dict[str, Any]]
"""Operations of a JSON patch."""
MANAGER = "alate-scale"
"""The field manager of changed fields: applying the Colony again takes them over."""


class WrongPhase(ValueError):
    """The cluster ends, or has not ended; the message says what to do instead."""


class NoSuchPool(ValueError):
    """The Colony has no such cluster, or the cluster no such pool; the message lists those that exist."""


def scaling(colony: Object, cluster: str, nodes: Mapping[str, int]) -> Patch:
    """The JSON patch that sets the number of nodes of pools. Raises NoSuchPool, WrongPhase."""
    place = _running_index(colony, cluster)
    pools = _spec(colony, place)["pools"]
    return [step for name, wanted in nodes.items() for step in _steps(place, pools, cluster, name, wanted)]


def hibernating(colony: Object, cluster: str, *, hibernate: bool) -> Patch:
    """The JSON patch that hibernates or wakes a cluster; empty if it is so already. Raises NoSuchPool, WrongPhase."""
    place = _running_index(colony, cluster)
    if bool(_spec(colony, place).get("hibernate")) is hibernate:
        return []
    at = f"/spec/clusters/{place}"
    return [
        _test_name(at, cluster),
        {"op": "add", "path": f"{at}/hibernate", "value": hibernate},
    ]


def upgrading(colony: Object, cluster: str, version: str) -> Patch:
    """The JSON patch that sets a cluster's version of Kubernetes. Raises NoSuchPool, WrongPhase."""
    at = f"/spec/clusters/{_running_index(colony, cluster)}"
    return [
        _test_name(at, cluster),
        {"op": "add", "path": f"{at}/kubernetesVersion", "value": version},
    ]


def extending(colony: Object, cluster: str, life: timedelta) -> Patch:
    """The JSON patch that sets the time a cluster lives since it was first ready; empty if it lives longer already.

    Raises NoSuchPool, WrongPhase.
    """
    place = _running_index(colony, cluster)
    written = _spec(colony, place).get("timeToLive")
    if written is None or durations.parse(written) >= life:
        return []
    at = f"/spec/clusters/{place}"
    return [
        _test_name(at, cluster),
        {"op": "test", "path": f"{at}/timeToLive", "value": written},
        {"op": "replace", "path": f"{at}/timeToLive", "value": durations.write(life)},
    ]


def recreating(colony: Object, cluster: str, now: datetime) -> Patch:
    """The JSON patch that creates a cluster again which has ended. Raises NoSuchPool, WrongPhase."""
    place = _cluster_index(colony, cluster)
    if not _end_phase(colony, cluster):
        raise WrongPhase(f"{colony['metadata']['name']}/{cluster} has not ended: there is nothing to do")
    at, written = f"/spec/clusters/{place}", _spec(colony, place).get("askedAt")
    later = max(now, datetime.fromisoformat(written) + timedelta(seconds=1)) if written else now
    return [
        _test_name(at, cluster),
        {"op": "add", "path": f"{at}/askedAt", "value": f"{later.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"},
    ]


def _end_phase(colony: Object, name: str) -> str:
    """How far its end has come, for people; empty if it has not begun."""
    shown: Object = next((each for each in colony.get("status", {}).get("clusters", ()) if each["name"] == name), {})
    if shown.get("phase") == "Released":
        return "has ended"
    going = shown.get("teardown", {}).get("phase", "Armed") not in ("Armed", "Warned")
    return "is being released" if going or shown.get("phase") == "Releasing" else ""


def _running_index(colony: Object, name: str) -> int:
    """The index of a cluster that is not ending. Raises NoSuchPool, WrongPhase."""
    place = _cluster_index(colony, name)
    if ends := _end_phase(colony, name):
        of = colony["metadata"]["name"]
        raise WrongPhase(f"{of}/{name} {ends}: `alate recreate {of}/{name}` creates it again")
    return place


def _spec(colony: Object, place: int) -> Object:
    found: Object = colony["spec"]["clusters"][place]
    return found


def _cluster_index(colony: Object, name: str) -> int:
    return _index(colony["spec"]["clusters"], name, f"Colony {colony['metadata']['name']} has no cluster {name}")


def _steps(place: int, pools: list[Object], cluster: str, name: str, wanted: int) -> Iterator[dict[str, Any]]:
    pool = _index(pools, name, f"cluster {cluster} has no pool {name}")
    at = f"/spec/clusters/{place}"
    yield _test_name(at, cluster)
    yield _test_name(f"{at}/pools/{pool}", name)
    yield {"op": "replace", "path": f"{at}/pools/{pool}/nodes", "value": wanted}


def _test_name(at: str, name: str) -> dict[str, Any]:
    """The operation that fails if something else is at this index now."""
    return {"op": "test", "path": f"{at}/name", "value": name}


def _index(items: list[Object], name: str, complaint: str) -> int:
    names = [item["name"] for item in items]
    if name not in names:
        raise NoSuchPool(f"{complaint}: it has {', '.join(names)}")
    return names.index(name)
