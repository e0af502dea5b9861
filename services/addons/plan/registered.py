"""Clusters that alate did not create, registered by a Secret with their kubeconfig and a label with their name."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any

from events.kube.client import Kube, Object
from events.kube.resources import SECRETS
from services.addons.plan.target import KnownCluster
from services.expressions.facts import ClusterFacts
from services.kubernetes.labels import GROUP
from services.runtime.watch_follower import follow

LABEL = f"{GROUP}/register"
"""On a Secret with a kubeconfig under the key ``value``: the cluster's name; the Secret's labels are the cluster's."""


class RegisteredClusters:
    """Every registered cluster, while `run` runs."""

    def __init__(self, kube: Kube, changed: Callable[[tuple[str, str]], None]) -> None:
        self.listed = asyncio.Event()
        """Set once all are known."""
        self._kube = kube
        self._changed = changed
        self._known: dict[tuple[str, str], KnownCluster] = {}

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(tuple(self._known))

    def get(self, name: tuple[str, str]) -> KnownCluster | None:
        """A cluster by namespace and name; None if none of that name is registered."""
        return self._known.get(name)

    def run(self) -> Coroutine[Any, Any, None]:
        """Watch until cancelled."""
        return follow(self._kube.watch(SECRETS, labels=LABEL), self)

    def on_list(self, items: Sequence[Object]) -> None:
        """These are all."""
        here = {_name(item): item for item in items}
        for gone in self._known.keys() - here.keys():
            self._drop(gone)
        for name, item in here.items():
            self._keep(name, item)

    def on_change(self, item: Object, *, gone: bool) -> None:
        """One was added or changed, or is gone."""
        self._drop(_name(item)) if gone else self._keep(_name(item), item)

    def _keep(self, name: tuple[str, str], item: Object) -> None:
        target = _target(name, item)
        if self._known.get(name) != target:
            self._known[name] = target
            self._changed(name)

    def _drop(self, name: tuple[str, str]) -> None:
        if self._known.pop(name, None) is not None:
            self._changed(name)


def _name(item: Object) -> tuple[str, str]:
    meta = item["metadata"]
    return meta["namespace"], meta["labels"][LABEL] or meta["name"]


def _target(name: tuple[str, str], item: Object) -> KnownCluster:
    meta = item["metadata"]
    return KnownCluster(
        tenant=name[0],
        name=name[1],
        colony="",
        uid=meta.get("uid", ""),
        correlation=meta.get("uid", ""),
        kubeconfig=meta["name"],
        facts=ClusterFacts(name[1], name[0], labels=dict(meta["labels"])),
        ending="deletionTimestamp" in meta,
    )
