"""The interface of a back end, and the back ends that the files of this folder declare."""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import ClassVar, Protocol

import services.clouds
from events.errors import Denied, TryLater
from events.kube.client import Kube, Object, Resource
from events.kube.resources import COLONIES
from schemas.infra import InfraSeen
from schemas.placement import Attempt
from schemas.wish import Wish
from services.clouds.cluster_object import ObjectCache
from services.clouds.existing_cluster import ExistingCluster
from services.kubernetes.labels import ATTEMPT, CLUSTER, MANAGER, UID


class Cloud(Protocol):
    """One back end: nine calls and one pure function, with four named errors.

    Every call is an ensure: idempotent, with deterministic names, safe to repeat.
    """

    name: ClassVar[str]
    """The name a Colony uses."""
    watched: ClassVar[Resource]
    """The kind of the one object per attempt whose conditions show its state."""

    @property
    def caches(self) -> tuple[ObjectCache, ...]:
        """What its calls read: provisioning runs these caches; without them every call asks the API server."""
        ...

    def __init__(self, kube: Kube) -> None: ...

    async def reach(self, wish: Wish) -> dict[str, bool]:
        """The clouds on which this back end can create the wish's cluster now, and whether on spot machines too.

        Raises Denied, with what is missing, if there is none; TryLater.
        """
        ...

    async def launch(self, wish: Wish, attempt: Attempt, uid: str) -> None:
        """Ensure that the attempt's objects exist. Raises NoCapacity, Denied, TryLater."""
        ...

    async def read_existing(self, tenant: str, name: str) -> ExistingCluster:
        """Reads the cluster of an object that others created. Raises NotFound, Denied, TryLater."""
        ...

    async def adopt(self, wish: Wish, attempt: Attempt, uid: str) -> None:
        """Ensure that the object to adopt carries the attempt's labels. Raises NotFound, Denied, TryLater."""
        ...

    async def resize(self, wish: Wish, attempt: Attempt, uid: str) -> None:
        """Ensure that the attempt's objects ask for its lots' nodes, and change nothing else of them.

        Raises NotFound if they do not exist, Denied, TryLater.
        """
        ...

    async def upgrade(self, wish: Wish, attempt: Attempt, uid: str) -> str:
        """Ensure that the attempt's control plane, then its workers, get the wish's version of Kubernetes.

        Returns the progress, for people; empty once everything runs the version. Raises NotFound if its objects do not
        exist, Denied, TryLater.
        """
        ...

    async def release(self, wish: Wish, attempt: Attempt) -> None:
        """Ensure that the attempt's objects are being deleted or no longer carry its labels.

        Raises NotFound once it is so, Denied, TryLater.
        """
        ...

    async def leftovers(self, tenant: str, cluster: str) -> dict[str, int]:
        """The number of objects left of any attempt of a cluster, by plural. Raises Denied, TryLater."""
        ...

    async def verify(self, tenant: str, seen: InfraSeen) -> InfraSeen:
        """What was read, checked against the tenant's other objects: if they contradict it, it is not reachable.

        Raises TryLater.
        """
        ...

    @staticmethod
    def read(seen: Object) -> InfraSeen | None:
        """The state that the watched object shows, or None if it is not one of ours. Pure."""
        ...


def backend_types() -> dict[str, type[Cloud]]:
    """Every back end that a file of this folder declares as ``BACKEND``, by the name a Colony uses."""
    names = (info.name for info in pkgutil.iter_modules(services.clouds.__path__))
    modules = (importlib.import_module(f"{services.clouds.__name__}.{name}") for name in names)
    declared: Iterator[type[Cloud] | None] = (getattr(module, "BACKEND", None) for module in modules)
    return {backend.name: backend for backend in declared if backend is not None}


def backends(kube: Kube) -> dict[str, Cloud]:
    """Every back end on one management cluster."""
    return {name: backend(kube) for name, backend in backend_types().items()}


def backend_for(wish: Wish, clouds: Mapping[str, Cloud], named: str = "") -> Cloud:
    """The back end that is named, or that the wish names. Raises Denied("UnknownBackend")."""
    name = named or wish.need.backend
    cloud = clouds.get(name)
    if cloud is None:
        known = ", ".join(sorted(clouds))
        raise Denied(f"there is no back end {name!r}: use one of {known}", "UnknownBackend")
    return cloud


async def reachable_elsewhere(wish: Wish, clouds: Mapping[str, Cloud]) -> dict[str, str]:
    """The clouds that other back ends could serve the wish on, each with the first such back end by name.

    A back end that cannot answer now is skipped: this is advice, and delays nothing.
    """
    found: dict[str, str] = {}
    for name in sorted(clouds.keys() - {wish.need.backend}):
        with suppress(Denied, TryLater):
            found = dict.fromkeys(await clouds[name].reach(wish), name) | found
    return found


def labels(cluster: str, attempt: Attempt, uid: str) -> dict[str, str]:
    """The labels of every object of an attempt, by which it is always found again."""
    return {
        "app.kubernetes.io/managed-by": MANAGER,
        CLUSTER: cluster,
        UID: uid,
        ATTEMPT: str(attempt.number),
    }


def owner(wish: Wish) -> list[dict[str, str]]:
    """The Colony as owner: even if all of alate were gone, Kubernetes would delete the cluster with it."""
    kind = {"apiVersion": COLONIES.api_version, "kind": COLONIES.kind}
    return [{**kind, "name": wish.colony, "uid": wish.uid}]
