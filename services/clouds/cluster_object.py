"""Creates, changes and reads the object of each attempt and its conditions, and caches such objects."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from events.errors import Denied, NotFound, TryLater
from events.kube.client import Changed, Kube, Listed, Lost, Object, Resource
from events.kube.discovery import find
from events.kube.port import NotServed
from schemas.cluster import NOT_INSTALLED
from schemas.infra import InfraSeen
from schemas.wish import own_name
from services.kubernetes.labels import ATTEMPT, CLUSTER, UID

OLDER_VERSION = "v1beta1"
"""The version of Cluster API before v1beta2, which k0rdent uses."""
SOON = 0.5
"""Seconds until an object is read again after a conflict with another writer."""


async def check_installed(kube: Kube, resource: Resource) -> None:
    """Ensure that the API server serves a kind; asks until it does once. Raises Denied as long as it does not."""
    if await served(kube, resource) is None:
        raise not_installed(resource.api_version, resource.kind)


async def newest_served(kube: Kube, resource: Resource) -> Resource:
    """The kind in the version we use, or in the one before if an older Cluster API serves only that."""
    return await served(kube, resource) or resource


async def served(kube: Kube, resource: Resource) -> Resource | None:
    """The kind in a version that is served; None if neither is."""
    for version in (resource.version, OLDER_VERSION):
        try:
            return await find(kube, f"{resource.group}/{version}", resource.kind)
        except NotFound:
            continue
    return None


def not_installed(api_version: str, kind: str) -> Denied:
    """The error while the API server does not serve a kind."""
    named = f"{kind} in {api_version}"
    return Denied(f"the API server does not serve {named}: install its CRD, and it goes on by itself", NOT_INSTALLED)


async def ensure(kube: Kube, resource: Resource, wanted: Object) -> Object:
    """Ensure that the object exists; returns it as it is, and never changes an existing one.

    Raises TryLater while an object of the name is being deleted, Denied if somebody else's has the name or the kind is
    not served.
    """
    try:
        return await kube.create(resource, wanted)
    except NotServed as missing:
        raise not_installed(resource.api_version, resource.kind) from missing
    except NotFound as missing:  # the namespace
        raise Denied(f"{wanted['kind']} cannot be made: {missing.message}", NOT_INSTALLED) from missing
    except Denied as denied:
        # Whatever the reason: that it is there already may have used up the quota that refuses a second one.
        return await _existing(kube, resource, wanted["metadata"], denied)


async def _existing(kube: Kube, resource: Resource, meta: Object, denied: Denied) -> Object:
    """The object that could not be created, if it had been created before."""
    try:
        there = await kube.get(resource, meta["name"], meta["namespace"])
    except NotFound as missing:
        if denied.reason == "AlreadyExists":  # it went since
            raise TryLater(denied.message, 0.5) from missing
        raise denied from missing
    _check_own(resource, there["metadata"], meta["labels"][UID])
    return there


def _check_own(resource: Resource, meta: Object, uid: str) -> None:
    """Raises TryLater while the object is being deleted, Denied if it is another incarnation's, or nobody's."""
    if meta.get("deletionTimestamp"):
        raise TryLater(f"{resource.plural}/{meta['name']} is still being deleted", 2.0)
    if meta.get("labels", {}).get(UID) != uid:
        raise Denied(f"{resource.plural}/{meta['name']} is there already, and is not ours", "AlreadyExists")


async def read_own(kube: Kube, resource: Resource, meta: Object, uid: str) -> Object:
    """An object of ours. Raises NotFound, TryLater while it is being deleted, Denied if it is not ours."""
    there = await kube.get(resource, meta["name"], meta["namespace"])
    _check_own(resource, there["metadata"], uid)
    return there


async def ensure_exactly(kube: Kube, resource: Resource, wanted: Sequence[Object]) -> None:
    """Ensure that of an attempt's objects of one kind exactly those exist that are wanted (one at least).

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


async def patch_own(kube: Kube, resource: Resource, meta: Object, uid: str, patch: Object) -> None:
    """Ensure that fields of an object of ours have these values. Raises NotFound, TryLater, Denied if not ours."""
    if not is_applied(await read_own(kube, resource, meta, uid), patch):
        await kube.patch(resource, meta["name"], meta["namespace"], patch)


async def patch_as_read(kube: Kube, resource: Resource, meta: Object, patch: Object) -> None:
    """Patch an object in the version that was read. Raises NotFound, Denied, TryLater if it has changed since."""
    as_read = patch | {"metadata": patch.get("metadata", {}) | {"resourceVersion": meta["resourceVersion"]}}
    try:
        await kube.patch(resource, meta["name"], meta["namespace"], as_read)
    except Denied as denied:
        if denied.reason != "Conflict":
            raise
        raise TryLater(f"{resource.kind} {meta['name']} has just been changed", SOON) from denied


def is_applied(there: object, wanted: object) -> bool:
    """Whether a merge patch would change nothing."""
    if isinstance(there, dict) and isinstance(wanted, dict):
        return all(is_applied(there.get(key), value) for key, value in wanted.items())
    return there == wanted


def merged(there: Mapping[str, object], patch: Mapping[str, object]) -> Object:
    """A mapping with a patch merged into it; nested mappings are merged, too."""
    return {**there, **{key: _merged(there.get(key), value) for key, value in patch.items()}}


def _merged(there: object, value: object) -> object:
    return merged(there, value) if isinstance(there, Mapping) and isinstance(value, dict) else value


def with_finalizers(seen: Object, message: str) -> str:
    """The status message; while the object is being deleted, prefixed with the finalizers that block that."""
    meta = seen["metadata"]
    if not meta.get("deletionTimestamp") or not meta.get("finalizers"):
        return message
    keepers = f"{meta['name']} is kept by its finalizers {', '.join(meta['finalizers'])}"
    return f"{keepers}: {message}" if message else keepers


def attempt_of(seen: Object) -> InfraSeen | None:
    """The attempt whose object this is, by its labels; None if it is not one of ours."""
    meta = seen["metadata"]
    labels, going = meta.get("labels", {}), bool(meta.get("deletionTimestamp"))
    try:
        cluster, uid, number = labels[CLUSTER], labels[UID], int(labels[ATTEMPT])
    except (KeyError, ValueError):
        return None
    adopted = "" if meta["name"] == own_name(cluster, number) else meta["name"]
    return InfraSeen(cluster=cluster, uid=uid, attempt=number, deleting=going, adopted=adopted)


class ObjectCache:
    """Objects of one kind: from a watch while it is connected, else from the API server."""

    def __init__(self, kube: Kube, resource: Resource, labels: str = "") -> None:
        """`labels` is a selector as in ``kubectl -l``."""
        self._kube = kube
        self._resource = resource
        self._labels = labels
        self._objects: dict[str, dict[str, Object]] | None = None

    async def run(self) -> None:
        """Follow the watch, for ever."""
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

    async def of(self, namespace: str, *, fresh: bool = False) -> tuple[Object, ...]:
        """The objects of a namespace; `fresh` asks the API server, as the watch may lag behind.

        Raises the faults of a list.
        """
        if fresh or self._objects is None:
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


CAPACITY = (
    "InsufficientInstanceCapacity",  # EC2 RunInstances error code
    "InsufficientReservedInstanceCapacity",
    "ZONE_RESOURCE_POOL_EXHAUSTED",  # Compute Engine operation error code
    "SkuNotAvailable",  # Azure Resource Manager error code
    "AllocationFailed",
    "ZonalAllocationFailed",
    "OverconstrainedAllocationRequest",
)
QUOTA = (
    "VcpuLimitExceeded",
    "InstanceLimitExceeded",
    "MaxSpotInstanceCountExceeded",
    "QUOTA_EXCEEDED",
    "QuotaExceeded",
)
DENIED = ("UnauthorizedOperation", "AuthFailure", "InvalidClientTokenId", "PERMISSION_DENIED", "AuthorizationFailed")
FAILURES = (
    *((code, "NoCapacity") for code in CAPACITY),
    *((code, "Quota") for code in QUOTA),
    *((code, "Denied") for code in DENIED),
)
"""Error codes of clouds that Cluster API passes on in messages, each with the reason it stands for."""


@dataclass(frozen=True)
class ObjectCondition:
    """One condition of an object."""

    status: str = "Unknown"
    reason: str = ""
    message: str = ""
    current: bool = False
    """It refers to the object's newest generation."""

    @property
    def true(self) -> bool:
        """Whether it is true and current: Unknown or outdated is not true."""
        return self.status == "True" and self.current


ABSENT = ObjectCondition()


def conditions(seen: Object) -> dict[str, ObjectCondition]:
    """Every condition by type; one without observedGeneration counts as of the object's own.

    Cluster API's v1beta1 has today's conditions under ``status.v1beta2``, beside its own.
    """
    generation = seen["metadata"].get("generation", 0)
    status = seen.get("status", {})
    observed = status.get("observedGeneration", 0)
    return {
        raw["type"]: ObjectCondition(
            raw.get("status", "Unknown"),
            raw.get("reason", ""),
            raw.get("message", ""),
            min(raw.get("observedGeneration", observed), observed) >= generation,
        )
        for raw in status.get("v1beta2", status).get("conditions", ())
    }


def failure_reason(message: str) -> str:
    """The reason that a cloud's error code in a message stands for; empty if there is none."""
    return next((reason for code, reason in FAILURES if code in message), "")
