"""The Kubernetes API client: errors instead of status codes, lists and watches without gaps."""

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Literal, TypeVar

import msgspec

from events.backoff import Backoff
from events.errors import TryLater
from events.kube.impersonation import Impersonating
from events.kube.limits import MANAGEMENT, Bounds, Tally
from events.kube.port import (
    Changed,
    Expired,
    Listed,
    Lost,
    Object,
    Request,
    Resource,
    Response,
    Sight,
    Transport,
    fault_of,
    is_named,
)
from events.kube.watch import Watch
from schemas.registry import UNREADABLE

__all__ = [
    "Changed",
    "Kube",
    "Listed",
    "Lost",
    "Object",
    "Request",
    "Resource",
    "Response",
    "Sight",
    "Transport",
]

PAGE = 500
"""Objects per page of a list: what kubectl asks for."""
PATCHES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",  # JSON is YAML, and any server since 1.16 takes it
}
_METADATA = "application/json;as={};v=v1;g=meta.k8s.io"
METADATA, CHANGED_METADATA = _METADATA.format("PartialObjectMetadataList"), _METADATA.format("PartialObjectMetadata")
"""A list, and a watch, of what objects are called and marked with; what they hold does not travel."""
Body = Object | list[Object]
"""What is sent: an object, or the steps of a JSON patch."""
Propagation = Literal["Background", "Foreground", "Orphan"]
T = TypeVar("T")


class _ListMeta(msgspec.Struct):
    version: str = msgspec.field(name="resourceVersion", default="")
    rest: str = msgspec.field(name="continue", default="")


class _Page(msgspec.Struct):
    metadata: _ListMeta
    items: list[Object] | None = None  # Go writes an empty list of a typed kind as null


_page = msgspec.json.Decoder(_Page)
_object: msgspec.json.Decoder[Object] = msgspec.json.Decoder(dict)


class Kube:
    """One API server. Every call raises the faults of `events.errors`; its transport sees that every call ends."""

    def __init__(self, transport: Transport, *, random: Callable[[], float], bounds: Bounds = MANAGEMENT) -> None:
        """`random` gives 0 to 1 and spreads retries; `bounds` are those of lists."""
        self.transport = transport
        self._bounds = bounds
        self.discovered: dict[str, tuple[Resource, ...]] = {}
        """What `events.kube.resources.find` knows of this server, by apiVersion."""
        self._random = random

    async def read(self, path: str) -> Object:
        """Any document by its path, e.g. ``/version``."""
        return await self._ask(Request("GET", path))

    async def get(self, resource: Resource, name: str, namespace: str | None = None) -> Object:
        """One object; `NotFound` if it is not there."""
        path = resource.path(namespace, name)
        return _whole(path, await self.read(path))

    async def list(
        self, resource: Resource, namespace: str | None = None, *, labels: str = "", fields: str = ""
    ) -> Listed:
        """Every object at one version, apiVersion and kind filled in; selectors as in ``kubectl -l``."""
        return await self._listed(resource, namespace, _selectors(labels, fields))

    async def marks(self, resource: Resource, namespace: str | None = None, *, labels: str = "") -> tuple[Object, ...]:
        """The metadata of every object that `labels` select: nothing that the objects hold travels."""
        listed = await self._listed(resource, namespace, _selectors(labels, ""), {"Accept": METADATA})
        return tuple(item["metadata"] for item in listed.items)

    async def create(
        self, resource: Resource, wanted: Object, *, manager: str = "alate", dry_run: bool = False
    ) -> Object:
        """Create an object in the namespace of its metadata; ``Denied("AlreadyExists")`` if it exists."""
        path = resource.path(wanted["metadata"].get("namespace"))
        body = _typed(resource, wanted)
        return await self._write("POST", path, {"fieldManager": manager, **_dry(dry_run)}, body, "application/json")

    async def apply(  # noqa: PLR0913 - an object, who says it, and how it is taken
        self,
        resource: Resource,
        wanted: Object,
        *,
        manager: str,
        force: bool = True,
        subresource: str | None = None,
        dry_run: bool = False,
    ) -> Object:
        """Server-side apply: `wanted` is all `manager` says; ``Denied("Conflict")`` only without `force`.

        With `dry_run` nothing is written: the answer is what the object would be.
        """
        meta = wanted["metadata"]
        path = resource.path(meta.get("namespace"), meta["name"], subresource)
        query = {"fieldManager": manager, "force": "true" if force else "false", **_dry(dry_run)}
        return _whole(path, await self._write("PATCH", path, query, _typed(resource, wanted), PATCHES["apply"]))

    async def patch(  # noqa: PLR0913 - an address of three parts, what to change, how, who
        self,
        resource: Resource,
        name: str,
        namespace: str | None,
        patch: Body,
        *,
        kind: Literal["merge", "json"] = "merge",
        subresource: str | None = None,
        manager: str = "alate",
    ) -> Object:
        """Change an object; a JSON patch whose ``test`` fails is ``Denied("Invalid")``."""
        path = resource.path(namespace, name, subresource)
        return await self._write("PATCH", path, {"fieldManager": manager}, patch, PATCHES[kind])

    async def delete(  # noqa: PLR0913 - an address of three parts, of which incarnation, how, within what time
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        propagation: Propagation = "Background",
        grace: int | None = None,
    ) -> Object:
        """Delete an object; returns a Status, or the object while finalizers or its grace period keep it.

        With `uid`, ``Denied("Conflict")`` if another object has the name. `grace`: seconds; None: the object's own.
        """
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
        if uid:
            options["preconditions"] = {"uid": uid}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        return await self._write("DELETE", resource.path(namespace, name), {}, options, "application/json")

    def watch(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
        metadata: bool = False,
    ) -> AsyncGenerator[Sight, None]:
        """Every object and every change: `Listed` first and after a gap, `Lost` once per interruption.

        It never raises a fault: a refusal is an interruption with a reason, and is retried. With `metadata` the
        objects have nothing else.
        """
        query = {"watch": "true", "allowWatchBookmarks": "true"} | _selectors(labels, fields)
        accept = CHANGED_METADATA if metadata else "application/json"
        request = Request("GET", resource.path(namespace), query, {"Accept": accept})
        listing = {"Accept": METADATA} if metadata else {}

        async def relist() -> Listed:
            return await self._listed(resource, namespace, _selectors(labels, fields), listing)

        return Watch(self.transport, relist, request, Backoff(self._random)).sights()

    def impersonating(self, user: str) -> "Kube":
        """The same API server in the name of a user, whose rights alone count; closing it closes nothing.

        Calls raise ``Denied("Forbidden")`` for what the user may not do, and without our right to impersonate it.
        """
        client = Kube(Impersonating(self.transport, user), random=self._random, bounds=self._bounds)
        client.discovered = self.discovered
        return client

    async def close(self) -> None:
        """Close every connection."""
        await self.transport.close()

    async def _listed(
        self,
        resource: Resource,
        namespace: str | None,
        selectors: Mapping[str, str],
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> Listed:
        first = Request("GET", resource.path(namespace), {"limit": str(PAGE), **selectors}, headers)
        try:
            return await self._pages(resource, first)
        except Expired:  # the pages' common version is gone: one whole list is what the server advises
            return await self._pages(resource, replace(first, query=selectors))

    async def _pages(self, resource: Resource, first: Request) -> Listed:
        items: list[Object] = []
        page, nameless, tally = _ListMeta(rest=""), 0, Tally(self._bounds, first.path)
        while True:
            more = {"continue": page.rest} if page.rest else {}
            request = replace(first, query={**first.query, **more})
            response = await self._answer(request)
            tally.page(response.body)
            answer = _decoded(request, response, _page)
            tally.items(len(answer.items or ()))
            there = [_typed(resource, item) for item in answer.items or () if is_named(item)]
            items += there
            nameless += len(answer.items or ()) - len(there)
            page = answer.metadata
            if not page.rest:
                return Listed(tuple(items), page.version, nameless)

    async def _write(self, method: str, path: str, query: Mapping[str, str], body: Body, content: str) -> Object:
        request = Request(method, path, query, {"Content-Type": content}, msgspec.json.encode(body))
        return await self._ask(request)

    async def _ask(self, request: Request) -> Object:
        response = await self._answer(request)
        Tally(self._bounds, request.path).page(response.body)
        return _decoded(request, response, _object)

    async def _answer(self, request: Request) -> Response:
        response = await self.transport.send(request)
        if response.status >= 300:
            raise fault_of(request, response)
        return response


def _whole(path: str, item: Object) -> Object:
    """The same. Raises TryLater for what is no object of Kubernetes, and no Status: nothing can be made of it."""
    if not is_named(item) and item.get("kind") != "Status":
        raise TryLater(f"{path} was answered with what is no object of Kubernetes: its metadata must hold a name")
    return item


def _decoded(request: Request, response: Response, decoder: msgspec.json.Decoder[T]) -> T:
    try:
        return decoder.decode(response.body)
    except UNREADABLE as error:
        raise fault_of(request, response) from error


def _typed(resource: Resource, item: Object) -> Object:
    """Items of a list come without their type, and so do objects that people build."""
    return {"apiVersion": resource.api_version, "kind": resource.kind} | item


def _dry(run: bool) -> dict[str, str]:  # noqa: FBT001 - what the parameter of each write says
    return {"dryRun": "All"} if run else {}


def _selectors(labels: str, fields: str) -> dict[str, str]:
    return {k: v for k, v in (("labelSelector", labels), ("fieldSelector", fields)) if v}
