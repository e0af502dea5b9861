"""What both back ends do alike with the one object whose life is the attempt's life."""

from collections.abc import Sequence
from contextlib import suppress

from events.errors import Denied, NotFound, TryLater
from events.kube.client import Changed, Kube, Listed, Lost, Object, Resource
from events.kube.discovery import find
from events.kube.errors import NotServed
from schemas.cluster import NOT_INSTALLED
from schemas.infra import InfraSeen
from schemas.wish import own_name
from services.kubernetes.labels import ATTEMPT, CLUSTER, UID

BEFORE = "v1beta1"
"""What Cluster API spoke before v1beta2, and k0rdent speaks."""
SOON = 0.5
"""Seconds until it is looked again at what somebody else was writing at the same moment."""


async def installed(kube: Kube, resource: Resource) -> None:
    """See that the API server serves a kind, asked until it once does. Raises Denied as long as it does not."""
    if await served(kube, resource) is None:
        raise uninstalled(resource.api_version, resource.kind)


async def newest(kube: Kube, resource: Resource) -> Resource:
    """The kind in the version we speak; in the one before, where an older Cluster API serves that alone."""
    return await served(kube, resource) or resource


async def served(kube: Kube, resource: Resource) -> Resource | None:
    """The same; None where the API server serves neither."""
    for version in (resource.version, BEFORE):
        try:
            return await find(kube, f"{resource.group}/{version}", resource.kind)
        except NotFound:
            continue
    return None


def uninstalled(api_version: str, kind: str) -> Denied:
    """What is said while the API server does not serve a kind."""
    named = f"{kind} in {api_version}"
    return Denied(f"the API server does not serve {named}: install its CRD, and it goes on by itself", NOT_INSTALLED)


async def ensure(kube: Kube, resource: Resource, wanted: Object) -> Object:
    """See that the object exists; gives it as it is. Never touches one that is there.

    Raises TryLater while a predecessor of the name is still going, Denied if somebody else's stands in the way
    or the kind is not served.
    """
    try:
        return await kube.create(resource, wanted)
    except NotServed as missing:
        raise uninstalled(resource.api_version, resource.kind) from missing
    except NotFound as missing:  # the namespace
        raise Denied(f"{wanted['kind']} cannot be made: {missing.message}", NOT_INSTALLED) from missing
    except Denied as denied:
        # Whatever the reason: that it is there already may have used up the quota that refuses a second one.
        return await _there(kube, resource, wanted["metadata"], denied)


async def _there(kube: Kube, resource: Resource, meta: Object, denied: Denied) -> Object:
    """The object that could not be made, if it was made before."""
    try:
        there = await kube.get(resource, meta["name"], meta["namespace"])
    except NotFound as missing:
        if denied.reason == "AlreadyExists":  # it went since
            raise TryLater(denied.message, 0.5) from missing
        raise denied from missing
    _ours(resource, there["metadata"], meta["labels"][UID])
    return there


def _ours(resource: Resource, meta: Object, uid: str) -> None:
    """Raises TryLater while an object of the name is going, Denied if it is of another incarnation, or nobody's."""
    if meta.get("deletionTimestamp"):
        raise TryLater(f"{resource.plural}/{meta['name']} is still being deleted", 2.0)
    if meta.get("labels", {}).get(UID) != uid:
        raise Denied(f"{resource.plural}/{meta['name']} is there already, and is not ours", "AlreadyExists")


async def own(kube: Kube, resource: Resource, meta: Object, uid: str) -> Object:
    """An object of ours. Raises NotFound, TryLater while it is going, Denied if it is not ours."""
    there = await kube.get(resource, meta["name"], meta["namespace"])
    _ours(resource, there["metadata"], uid)
    return there


async def exactly(kube: Kube, resource: Resource, wanted: Sequence[Object]) -> None:
    """See that of an attempt's objects of one kind those exist that are wanted (one at least), and no others.

    Raises what `ensure` raises.
    """
    meta = wanted[0]["metadata"]
    mine = ",".join(f"{key}={meta['labels'][key]}" for key in (CLUSTER, UID, ATTEMPT))
    listed = {
        each["metadata"]["name"]: each for each in (await kube.list(resource, meta["namespace"], labels=mine)).items
    }
    names = {each["metadata"]["name"] for each in wanted}
    for each in wanted:
        if each["metadata"]["name"] not in listed:
            await ensure(kube, resource, each)
    for name in listed.keys() - names:
        with suppress(NotFound):
            await kube.delete(resource, name, meta["namespace"], uid=listed[name]["metadata"]["uid"])


async def alter(kube: Kube, resource: Resource, meta: Object, uid: str, patch: Object) -> None:
    """See that fields of an object of ours are so. Raises NotFound, TryLater while it is going, Denied if not ours."""
    if not shows(await own(kube, resource, meta, uid), patch):
        await kube.patch(resource, meta["name"], meta["namespace"], patch)


async def rewrite(kube: Kube, resource: Resource, meta: Object, patch: Object) -> None:
    """Change an object as it was read. Raises NotFound, Denied, TryLater if it has been changed since."""
    as_read = patch | {"metadata": patch.get("metadata", {}) | {"resourceVersion": meta["resourceVersion"]}}
    try:
        await kube.patch(resource, meta["name"], meta["namespace"], as_read)
    except Denied as denied:
        if denied.reason != "Conflict":
            raise
        raise TryLater(f"{resource.kind} {meta['name']} has just been changed", SOON) from denied


def shows(there: object, wanted: object) -> bool:
    """Whether a merge patch of what is wanted would change nothing."""
    if isinstance(there, dict) and isinstance(wanted, dict):
        return all(shows(there.get(key), value) for key, value in wanted.items())
    return there == wanted


def with_keepers(seen: Object, message: str) -> str:
    """What is said of an object; of one that is being deleted, first whose leave it waits for."""
    meta = seen["metadata"]
    if not meta.get("deletionTimestamp") or not meta.get("finalizers"):
        return message
    keepers = f"{meta['name']} is kept by its finalizers {', '.join(meta['finalizers'])}"
    return f"{keepers}: {message}" if message else keepers


def identity(seen: Object) -> InfraSeen | None:
    """Whose attempt the object is, by its labels; None if it is not one of ours."""
    meta = seen["metadata"]
    labels, going = meta.get("labels", {}), bool(meta.get("deletionTimestamp"))
    try:
        cluster, uid, number = labels[CLUSTER], labels[UID], int(labels[ATTEMPT])
    except (KeyError, ValueError):
        return None
    adopted = "" if meta["name"] == own_name(cluster, number) else meta["name"]
    return InfraSeen(cluster=cluster, uid=uid, attempt=number, going=going, adopted=adopted)


class Kept:
    """Objects of one kind: as the watch shows them while one is heard, else as the API server answers."""

    def __init__(self, kube: Kube, resource: Resource, labels: str = "") -> None:
        """`labels` is a selector as in ``kubectl -l``."""
        self._kube = kube
        self._resource = resource
        self._labels = labels
        self._objects: dict[str, dict[str, Object]] | None = None

    async def run(self) -> None:
        """Follow, for ever."""
        async for sight in self._kube.watch(self._resource, labels=self._labels):
            match sight:
                case Listed(items):
                    self._objects = {}
                    for item in items:
                        self._take(self._objects, item, gone=False)
                case Changed(item, gone) if self._objects is not None:
                    self._take(self._objects, item, gone=gone)
                case Lost():
                    self._objects = None

    async def of(self, namespace: str, *, anew: bool = False) -> tuple[Object, ...]:
        """Those of a namespace; `anew` asks the API server, as what was just made may not be seen yet.

        Raises the faults of a list.
        """
        if anew or self._objects is None:
            return (await self._kube.list(self._resource, namespace, labels=self._labels)).items
        return tuple(self._objects.get(namespace, {}).values())

    @staticmethod
    def _take(objects: dict[str, dict[str, Object]], item: Object, *, gone: bool) -> None:
        meta = item["metadata"]
        there = objects.setdefault(meta["namespace"], {})
        if gone:
            there.pop(meta["name"], None)
        else:
            there[meta["name"]] = item
