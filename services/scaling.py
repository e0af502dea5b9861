"""A change to a running cluster is written into its Colony as one patch, which fails where that has moved since."""

from collections.abc import Iterator, Mapping
from typing import Any

from events.kube_port import Object

Patch = list[dict[str, Any]]
"""Steps of a JSON patch."""
MANAGER = "alate-scale"
"""The field manager: whoever applies the Colony takes the number over again."""


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
        {"op": "test", "path": f"{at}/name", "value": cluster},
        {"op": "add", "path": f"{at}/hibernate", "value": hibernate},
    ]


def _cluster(colony: Object, name: str) -> int:
    return _place(colony["spec"]["clusters"], name, f"Colony {colony['metadata']['name']} has no cluster {name}")


def _steps(place: int, pools: list[Object], cluster: str, name: str, wanted: int) -> Iterator[dict[str, Any]]:
    pool = _place(pools, name, f"cluster {cluster} has no pool {name}")
    at = f"/spec/clusters/{place}"
    yield {"op": "test", "path": f"{at}/name", "value": cluster}
    yield {"op": "test", "path": f"{at}/pools/{pool}/name", "value": name}
    yield {"op": "replace", "path": f"{at}/pools/{pool}/nodes", "value": wanted}


def _place(items: list[Object], name: str, complaint: str) -> int:
    names = [item["name"] for item in items]
    if name not in names:
        raise NoSuchPool(f"{complaint}: it has {', '.join(names)}")
    return names.index(name)
