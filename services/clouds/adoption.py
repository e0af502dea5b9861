"""An adopted object is ours as long as it carries our labels; nothing else of it is changed.

It gets no owner reference: that would delete it with the Colony.
"""

from collections.abc import Callable

from events.errors import Denied, NotFound
from events.kube.client import Kube, Object, Resource
from events.kube.port import NotServed
from schemas.placement import Attempt
from schemas.wish import Adopt, OnRelease, Wish
from services.clouds.cluster_object import not_installed, patch_as_read, read_own
from services.kubernetes.labels import ATTEMPT, CLUSTER, UID


async def read_existing(kube: Kube, resource: Resource, name: str, tenant: str) -> Object:
    """The object. Raises NotFound if it does not exist or is being deleted, Denied if its kind is not served."""
    try:
        there = await kube.get(resource, name, tenant)
    except NotServed as missing:
        raise not_installed(resource.api_version, resource.kind) from missing
    except NotFound as missing:
        raise NotFound(f"there is no {resource.kind} {name} in namespace {tenant}") from missing
    if there["metadata"].get("deletionTimestamp"):
        raise NotFound(f"{resource.kind} {name} is being deleted")
    return there


def adopted_as(there: Object) -> str:
    """The cluster whose labels an object carries; empty: it is free."""
    return str(there["metadata"].get("labels", {}).get(CLUSTER, ""))


async def adopt(kube: Kube, resource: Resource, wish: Wish, attempt: Attempt, uid: str) -> None:
    """Ensure that the object carries the attempt's labels. Raises NotFound, Denied if it carries others, TryLater.

    The patch names the version that was read: of two that find the object free, one is refused.
    """
    meta = (await read_existing(kube, resource, attempt.adopts, wish.tenant))["metadata"]
    marks, there = {CLUSTER: wish.name, UID: uid, ATTEMPT: str(attempt.number)}, meta.get("labels", {})
    if marks.items() <= there.items():
        return
    if CLUSTER in there:
        raise Denied(f"{resource.kind} {attempt.adopts} is adopted already, as {there[CLUSTER]}", "AlreadyExists")
    await patch_as_read(kube, resource, meta, {"metadata": {"labels": marks}})


async def release_adopted(kube: Kube, resource: Resource, wish: Wish, attempt: Attempt) -> None:
    """Ensure that the object carries no labels of the attempt, or is being deleted. Raises NotFound once it is so.

    It is deleted if the wish says so of this very object; what a failed attempt had adopted stays.
    """
    meta = (await kube.get(resource, attempt.adopts, wish.tenant))["metadata"]
    there = meta.get("labels", {})
    if (there.get(CLUSTER), there.get(ATTEMPT)) != (wish.name, str(attempt.number)):
        raise NotFound(f"{resource.kind} {attempt.adopts} bears no mark of this attempt")
    if _is_deleted_with(wish.need.adopt, attempt):
        await kube.delete(resource, meta["name"], wish.tenant, uid=meta["uid"])
    else:
        await patch_as_read(kube, resource, meta, {"metadata": {"labels": dict.fromkeys((CLUSTER, UID, ATTEMPT))}})


def _is_deleted_with(asked: Adopt | None, attempt: Attempt) -> bool:
    """Whether it is deleted with the cluster: the wish may name another object by now."""
    ended = asked is not None and asked.on_release is OnRelease.DELETE and asked.name == attempt.adopts
    return ended and not attempt.reason


async def patch_adopted(  # noqa: PLR0913 - which of whose objects, and what of it
    kube: Kube, resource: Resource, wish: Wish, attempt: Attempt, *, uid: str, patch: Callable[[Object], Object]
) -> None:
    """Patch the object given its current state, so that a list can be replaced. Raises NotFound, Denied, TryLater."""
    there = await read_own(kube, resource, {"name": attempt.adopts, "namespace": wish.tenant}, uid)
    await patch_as_read(kube, resource, there["metadata"], patch(there))
