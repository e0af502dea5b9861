"""Clusters that others made, and an API that keeps them, through which the real calls take them in."""

import asyncio
from collections.abc import Awaitable, Callable
from copy import deepcopy
from itertools import count
from typing import Any

import msgspec

from events.errors import Denied, NotFound
from events.kube.port import Object, Resource
from events.kube.resources import CLUSTERS
from schemas.infra import InfraSeen
from schemas.placement import Attempt
from schemas.wish import Wish
from services.clouds import adoption
from services.clouds.cluster_object import attempt_of
from services.clouds.existing_cluster import ExistingCluster

NODES = 2
"""As its makers left it."""
Tell = Callable[[str, InfraSeen], Awaitable[None]]


class Theirs:
    """The objects, with their marks; whoever watches is told what they show, as the gateway would."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._versions = count(1)
        self.objects: dict[str, Object] = {}
        self.asked_to_end: set[str] = set()
        """Those whose end somebody asked of the API: what their makers do is not among it."""
        self.changed: dict[str, float] = {}
        """When each was last another than before."""

    def make(self, name: str) -> None:
        """Its makers make it."""
        version = str(next(self._versions))
        meta = {"name": name, "namespace": "acme", "uid": f"u{version}", "resourceVersion": version, "labels": {}}
        self.objects[name] = {"kind": CLUSTERS.kind, "metadata": meta, "spec": {"nodes": NODES}}

    async def unmake(self, name: str) -> None:
        """Its makers delete it."""
        if name in self.objects:
            await self._become(name, None)

    async def strip(self, name: str) -> None:
        """Somebody takes its marks off by hand."""
        if name in self.objects:
            await self._become(name, _with(self.objects[name], labels={}))

    def marks(self, name: str) -> InfraSeen | None:
        """Whose it is now."""
        return attempt_of(self.objects[name]) if name in self.objects else None

    async def get(self, resource: Resource, name: str, namespace: str) -> Object:
        if name not in self.objects:
            raise NotFound(f"clusters {name!r} not found")
        return deepcopy(self.objects[name])

    async def patch(self, resource: Resource, name: str, namespace: str, patch: Object) -> None:
        there = await self.get(resource, name, namespace)
        if patch["metadata"]["resourceVersion"] != there["metadata"]["resourceVersion"]:
            raise Denied("it has been changed", "Conflict")
        labels = there["metadata"]["labels"] | patch["metadata"].get("labels", {})
        kept = {key: value for key, value in labels.items() if value is not None}
        await self._become(name, _with(there, labels=kept) | {"spec": there["spec"] | patch.get("spec", {})})

    async def delete(self, resource: Resource, name: str, namespace: str, uid: str) -> None:
        """It is going when it is asked once, and gone when it is asked again."""
        there = await self.get(resource, name, namespace)
        assert uid == there["metadata"]["uid"]
        self.asked_to_end.add(name)
        going = "deletionTimestamp" in there["metadata"]
        await self._become(name, None if going else _with(there, deletionTimestamp="2026-01-01T00:00:00Z"))

    async def _become(self, name: str, after: Object | None) -> None:
        before = attempt_of(self.objects.pop(name))
        self.changed[name] = asyncio.get_running_loop().time()
        if after is not None:
            self.objects[name] = _with(after, resourceVersion=str(next(self._versions)))
        seen = attempt_of(after) if after is not None else None
        if seen is not None:
            await self._tell(name, msgspec.structs.replace(seen, reachable=not seen.deleting))
        elif before is not None:
            await self._tell(name, msgspec.structs.replace(before, present=False, deleting=False))


class Taker:
    """Of a back end the calls on what others made; each of its own calls on the API is one that its process may not
    outlive.
    """

    def __init__(self, theirs: Theirs, call: Callable[[Callable[[], Awaitable[Any]]], Awaitable[Any]]) -> None:
        self._theirs, self._call = theirs, call

    async def read_existing(self, tenant: str, name: str) -> ExistingCluster:
        there = await adoption.read_existing(self, CLUSTERS, name, tenant)
        return ExistingCluster("good", "r", nodes=there["spec"]["nodes"])

    async def adopt(self, wish: Wish, attempt: Attempt, uid: str) -> None:
        await adoption.adopt(self, CLUSTERS, wish, attempt, uid)

    async def resize(self, wish: Wish, attempt: Attempt, uid: str) -> None:
        spec = {"spec": {"nodes": attempt.placement.nodes}}
        await adoption.patch_adopted(self, CLUSTERS, wish, attempt, uid=uid, patch=lambda _: spec)

    async def release(self, wish: Wish, attempt: Attempt) -> None:
        await adoption.release_adopted(self, CLUSTERS, wish, attempt)

    async def get(self, *which: Any) -> Object:
        return await self._call(lambda: self._theirs.get(*which))

    async def patch(self, *what: Any) -> None:
        await self._call(lambda: self._theirs.patch(*what))

    async def delete(self, *which: Any, uid: str) -> None:
        await self._call(lambda: self._theirs.delete(*which, uid=uid))


def _with(there: Object, **meta: Any) -> Object:
    return there | {"metadata": there["metadata"] | meta}
