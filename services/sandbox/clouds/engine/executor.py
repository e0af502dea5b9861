"""Carries out actions; each is idempotent."""

from base64 import b64encode
from collections.abc import Awaitable, Callable
from typing import Any

from events.errors import Denied, NotFound, TryLater
from events.kube.client import Kube, Object, Resource
from events.kube.discovery import find
from events.kube.resources import CONFIGMAPS, NODES, SECRETS
from services.sandbox.clouds.engine.cache import Cache, is_gone
from services.sandbox.clouds.model.actions import (
    Action,
    AddNode,
    AddOwner,
    Create,
    Delete,
    PatchBoth,
    PatchObject,
    PatchStatus,
    RecordMachine,
    RemoveNode,
    StartApi,
    StopApi,
    WaitUntil,
)
from services.sandbox.clouds.model.annotations import CLUSTER_NAME, MANAGER
from services.sandbox.clouds.model.billing import book
from services.sandbox.clouds.model.objects import name, owned, owner
from services.sandbox.clouds.model.world import World

SECRET_TYPE = "cluster.x-k8s.io/secret"  # noqa: S105 - Cluster API's type of Secret, no secret

ActionHandler = Callable[[Any], Awaitable[bool]]
"""Carries out one type of action."""


class Executor:
    """Carries out the actions of controllers."""

    def __init__(self, kube: Kube, world: World, cache: Cache) -> None:
        self._kube = kube
        self._world = world
        self._cache = cache
        self._handlers: dict[type, ActionHandler] = {
            Create: self._create,
            PatchStatus: self._patch_status,
            PatchObject: self._patch_object,
            PatchBoth: self._patch_both,
            Delete: self._delete,
            AddOwner: self._add_owner,
            StartApi: self._start_api,
            StopApi: self._stop_api,
            AddNode: self._add_node,
            RemoveNode: self._remove_node,
            RecordMachine: self._record_machine,
            WaitUntil: self._wait_until,
        }

    async def do(self, change: Action) -> bool:
        """Carry out one action; returns whether it changed anything. Raises Denied, TryLater."""
        return await self._handlers[type(change)](change)

    async def _create(self, change: Create) -> bool:
        meta = change.object["metadata"]
        try:
            made = await self._kube.create(change.resource, change.object, manager=MANAGER)
        except Denied as denied:
            if denied.reason != "AlreadyExists":
                raise
            made = await self._kube.get(change.resource, meta["name"], meta.get("namespace"))
        self._cache.seen(change.resource, made)
        return True

    async def _patch_status(self, change: PatchStatus) -> bool:
        return await self._patch(change.resource, change.of, {"status": change.status}, "status")

    async def _patch_object(self, change: PatchObject) -> bool:
        return await self._patch(change.resource, change.of, change.patch, None)

    async def _patch_both(self, change: PatchBoth) -> bool:
        of = change.of
        for patch, subresource in ((change.patch, None), ({"status": change.status}, "status")):
            if patch not in ({}, {"status": {}}):
                answer = await self._sent(change.resource, of, patch, subresource)
                if answer is None:
                    return await self._refresh(change.resource, of)
                of = answer
        return _differ(of, change.of)

    async def _patch(self, resource: Resource, of: Object, patch: Object, subresource: str | None) -> bool:
        answer = await self._sent(resource, of, patch, subresource)
        if answer is None:
            return await self._refresh(resource, of)
        return is_gone(answer) or _differ(answer, of)

    async def _sent(self, resource: Resource, of: Object, patch: Object, subresource: str | None) -> Object | None:
        """Patch the version that the controller saw; if it has changed or is gone, read it again."""
        meta = of["metadata"]
        version = {"resourceVersion": meta["resourceVersion"]}
        patch = patch | {"metadata": patch.get("metadata", {}) | version}
        try:
            answer = await self._kube.patch(
                resource, meta["name"], meta.get("namespace"), patch, subresource=subresource, manager=MANAGER
            )
        except NotFound:
            return None
        except Denied as denied:
            if denied.reason != "Conflict":
                raise
            return None
        self._cache.seen(resource, answer)
        return answer

    async def _refresh(self, resource: Resource, of: Object) -> bool:
        """Read an object that somebody else changed first."""
        meta = of["metadata"]
        try:
            found = await self._kube.get(resource, meta["name"], meta.get("namespace"))
        except NotFound:
            self._cache.gone(resource, of)
            return True
        self._cache.seen(resource, found)
        return _differ(found, of)

    async def _delete(self, change: Delete) -> bool:
        meta = change.of["metadata"]
        try:
            await self._kube.delete(change.resource, meta["name"], meta["namespace"], uid=meta["uid"])
        except NotFound:
            self._cache.gone(change.resource, change.of)
            return True
        except Denied as denied:  # another incarnation bears the name: to be seen, not to be deleted
            if denied.reason != "Conflict":
                raise
        return await self._refresh(change.resource, change.of)

    async def _add_owner(self, change: AddOwner) -> bool:
        try:
            resource = await find(self._kube, change.api_version, change.kind)
            of = await self._kube.get(resource, change.name, change.namespace)
        except NotFound:
            return False
        owners = of["metadata"].get("ownerReferences", [])
        if any(one["uid"] == change.owner["uid"] for one in owners):
            return False
        patch = {"ownerReferences": [*owners, change.owner], "resourceVersion": of["metadata"]["resourceVersion"]}
        await self._kube.patch(resource, change.name, change.namespace, {"metadata": patch}, manager=MANAGER)
        return True

    async def _start_api(self, change: StartApi) -> bool:
        secret = _secret(change, await self._world.found(change.place))
        meta = secret["metadata"]
        try:
            await self._kube.create(SECRETS, secret, manager=MANAGER)
        except Denied as denied:
            if denied.reason != "AlreadyExists":
                raise
            there = await self._kube.get(SECRETS, meta["name"], meta["namespace"])
            if not owned(there, change.owner):
                raise TryLater(f"the Secret {meta['name']} of a predecessor is still there", 0.2) from denied
        return True

    async def _stop_api(self, change: StopApi) -> bool:
        await self._world.drop(change.place)
        return True

    async def _add_node(self, change: AddNode) -> bool:
        kube = self._world.kube(change.place)
        try:
            await kube.create(NODES, change.node, manager=MANAGER)
        except Denied as denied:
            if denied.reason != "AlreadyExists":
                raise
            status = {"status": change.node["status"]}
            await kube.patch(NODES, name(change.node), None, status, subresource="status", manager=MANAGER)
        return True

    async def _remove_node(self, change: RemoveNode) -> bool:
        try:
            await self._world.kube(change.place).delete(NODES, change.node)
        except NotFound:
            return False
        return True

    async def _record_machine(self, change: RecordMachine) -> bool:
        wanted = book(change)
        meta = wanted["metadata"]
        try:
            there = await self._kube.get(CONFIGMAPS, meta["name"], meta["namespace"])
        except NotFound:
            await self._kube.create(CONFIGMAPS, wanted, manager=MANAGER)
            return True
        missing = {key: line for key, line in change.lines.items() if key not in (there.get("data") or {})}
        if missing:
            await self._kube.patch(CONFIGMAPS, meta["name"], meta["namespace"], {"data": missing}, manager=MANAGER)
        return bool(missing)

    async def _wait_until(self, change: WaitUntil) -> bool:
        del change
        return False


def _differ(one: Object, other: Object) -> bool:
    return bool(one["metadata"]["resourceVersion"] != other["metadata"]["resourceVersion"])


def _secret(change: StartApi, kubeconfig: str) -> Object:
    meta = change.cluster["metadata"]
    return {
        "metadata": {
            "name": f"{meta['name']}-kubeconfig",
            "namespace": meta["namespace"],
            "labels": {CLUSTER_NAME: meta["name"]},
            "ownerReferences": [owner(change.owner)],
        },
        "type": SECRET_TYPE,
        "data": {"value": b64encode(kubeconfig.encode()).decode()},
    }
