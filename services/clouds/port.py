"""What a back end must be able to do: nine calls and one pure reading, with four named errors."""

from types import ModuleType
from typing import ClassVar, Protocol

from events.kube.client import Kube, Object, Resource
from events.kube.resources import COLONIES
from schemas.infra import InfraSeen
from schemas.placement import Attempt
from schemas.wish import Wish
from services.clouds.cluster_object import Kept
from services.clouds.existing_cluster import Standing
from services.kubernetes.labels import ATTEMPT, CLUSTER, MANAGER, UID


class Cloud(Protocol):
    """One back end. Every call is an ensure: idempotent, named deterministically, safe to repeat."""

    name: ClassVar[str]
    """What a Colony calls it."""
    watched: ClassVar[Resource]
    """The kind of the one object per attempt whose conditions tell how it is."""

    kept: tuple[Kept, ...]
    """What its calls read: who founds runs these beside it; for others it is read each time."""

    def __init__(self, kube: Kube) -> None: ...

    async def reach(self, wish: Wish) -> dict[str, bool]:
        """The clouds on which this back end can found the wish now, and whether on spot machines too.

        Raises Denied, with what is missing, if there is none; TryLater.
        """
        ...

    async def launch(self, wish: Wish, attempt: Attempt, uid: str) -> None:
        """See that the attempt's objects exist. Raises NoCapacity, Denied, TryLater."""
        ...

    async def standing(self, tenant: str, name: str) -> Standing:
        """What an object that others made tells of its cluster. Raises NotFound, Denied, TryLater."""
        ...

    async def adopt(self, wish: Wish, attempt: Attempt, uid: str) -> None:
        """See that the object which the attempt adopts is known as its own. Raises NotFound, Denied, TryLater."""
        ...

    async def resize(self, wish: Wish, attempt: Attempt, uid: str) -> None:
        """See that the attempt's objects ask for the nodes its lots have, and touch nothing else of them.

        Raises NotFound where they are not there, Denied, TryLater.
        """
        ...

    async def upgrade(self, wish: Wish, attempt: Attempt, uid: str) -> str:
        """See that the attempt's control plane, then its workers, get the wish's version of Kubernetes.

        Gives how far that is, for people; empty once all of it runs the version. Raises NotFound where its objects
        are not there, Denied, TryLater.
        """
        ...

    async def release(self, wish: Wish, attempt: Attempt) -> None:
        """See that the attempt's objects are going, or are others' again. Raises NotFound once so, Denied, TryLater."""
        ...

    async def leftovers(self, tenant: str, cluster: str) -> dict[str, int]:
        """What is left of any attempt of a cluster, counted by plural. Raises Denied, TryLater."""
        ...

    async def held(self, tenant: str, seen: InfraSeen) -> InfraSeen:
        """What was read, held against what else the tenant has: what does not bear it out is not reachable.

        Raises TryLater.
        """
        ...

    @staticmethod
    def read(seen: Object) -> InfraSeen | None:
        """What the watched object says, or None if it is not one of ours. Pure."""
        ...


def backend_of(module: ModuleType) -> type[Cloud] | None:
    """The back end a file declares as ``BACKEND``, if it does."""
    found: type[Cloud] | None = getattr(module, "BACKEND", None)
    return found


def labels(cluster: str, attempt: Attempt, uid: str) -> dict[str, str]:
    """What every object of an attempt carries, so that it is found again whatever happens."""
    return {
        "app.kubernetes.io/managed-by": MANAGER,
        CLUSTER: cluster,
        UID: uid,
        ATTEMPT: str(attempt.number),
    }


def owner(wish: Wish) -> list[dict[str, str]]:
    """The Colony as owner: should all of us be gone, Kubernetes itself lets the cluster go with it."""
    kind = {"apiVersion": COLONIES.api_version, "kind": COLONIES.kind}
    return [{**kind, "name": wish.colony, "uid": wish.uid}]
