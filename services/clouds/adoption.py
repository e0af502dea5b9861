"""What others made is ours as long as our marks are on it: nothing else of it is touched.

It gets no owner reference: that would delete it with the Colony.
"""

from collections.abc import Callable

from events.errors import Denied, NotFound
from events.kube.client import Kube, Object, Resource
from events.kube.errors import NotServed
from schemas.placement import Attempt
from schemas.wish import Adopt, OnRelease, Wish
from services.clouds.cluster_object import own, rewrite, uninstalled
from services.kubernetes.labels import ATTEMPT, CLUSTER, UID


async def standing(kube: Kube, resource: Resource, name: str, tenant: str) -> Object:
    """The object. Raises NotFound where there is none or it is going, Denied if its kind is not served."""
    try:
        there = await kube.get(resource, name, tenant)
    except NotServed as missing:
        raise uninstalled(resource.api_version, resource.kind) from missing
    except NotFound as missing:
        raise NotFound(f"there is no {resource.kind} {name} in namespace {tenant}") from missing
    if there["metadata"].get("deletionTimestamp"):
        raise NotFound(f"{resource.kind} {name} is being deleted")
    return there


def bearer(there: Object) -> str:
    """The cluster whose marks an object bears; empty: it is free."""
    return str(there["metadata"].get("labels", {}).get(CLUSTER, ""))


async def take_in(kube: Kube, resource: Resource, wish: Wish, attempt: Attempt, uid: str) -> None:
    """See that the object bears the attempt's marks. Raises NotFound, Denied if it bears another's, TryLater.

    The patch names the version that was read: of two who find it free, one is told that it has changed since.
    """
    meta = (await standing(kube, resource, attempt.adopts, wish.tenant))["metadata"]
    marks, there = {CLUSTER: wish.name, UID: uid, ATTEMPT: str(attempt.number)}, meta.get("labels", {})
    if marks.items() <= there.items():
        return
    if CLUSTER in there:
        raise Denied(f"{resource.kind} {attempt.adopts} is taken in already, as {there[CLUSTER]}", "AlreadyExists")
    await rewrite(kube, resource, meta, {"metadata": {"labels": marks}})


async def hand_back(kube: Kube, resource: Resource, wish: Wish, attempt: Attempt) -> None:
    """See that the object bears the attempt's marks no more, or is going. Raises NotFound once it is so.

    It goes where the wish says so of this very one: what an attempt took in that came to nothing stands on.
    """
    meta = (await kube.get(resource, attempt.adopts, wish.tenant))["metadata"]
    there = meta.get("labels", {})
    if (there.get(CLUSTER), there.get(ATTEMPT)) != (wish.name, str(attempt.number)):
        raise NotFound(f"{resource.kind} {attempt.adopts} bears no mark of this attempt")
    if _ends(wish.need.adopt, attempt):
        await kube.delete(resource, meta["name"], wish.tenant, uid=meta["uid"])
    else:
        await rewrite(kube, resource, meta, {"metadata": {"labels": dict.fromkeys((CLUSTER, UID, ATTEMPT))}})


def _ends(asked: Adopt | None, attempt: Attempt) -> bool:
    """Whether it shall go with the cluster: the wish may name another one by now."""
    ended = asked is not None and asked.on_release is OnRelease.DELETE and asked.name == attempt.adopts
    return ended and not attempt.reason


async def alter(  # noqa: PLR0913 - which of whose objects, and what of it
    kube: Kube, resource: Resource, wish: Wish, attempt: Attempt, *, uid: str, patch: Callable[[Object], Object]
) -> None:
    """Patch the object, told as it is: so a list can be given whole. Raises NotFound, Denied if not ours, TryLater."""
    there = await own(kube, resource, {"name": attempt.adopts, "namespace": wish.tenant}, uid)
    await rewrite(kube, resource, there["metadata"], patch(there))
