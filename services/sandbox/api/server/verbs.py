"""Dispatches a request by its method and path to the operation that answers it."""

from collections.abc import Awaitable, Callable

import msgspec

from events.kube.client import Object, Response
from services.sandbox.api.objects import delete, scale
from services.sandbox.api.objects.delete import Remover
from services.sandbox.api.objects.patch import APPLY
from services.sandbox.api.objects.read import Reader, listed, unsaid, versioned
from services.sandbox.api.objects.write import ObjectWriter, WriteResult, patching
from services.sandbox.api.status import JSON, StatusError, bad_request, not_allowed, not_found, unknown_path
from services.sandbox.api.store.store import EncodedObject, encode
from services.sandbox.api.store.watch import OpenWatch
from services.sandbox.api.wire import bodies
from services.sandbox.api.wire.request import ApiRequest

VerbResult = Response | OpenWatch
Verb = Callable[[ApiRequest], Awaitable[VerbResult]]
_LIMIT = 3 * 1024 * 1024
"""The largest body, as in the real server; the journal enforces the bus's own limit."""


class Verbs:
    """Answers requests for objects."""

    def __init__(self, reader: Reader, writer: ObjectWriter, remover: Remover) -> None:
        self._reader = reader
        self._writer = writer
        self._remover = remover
        self._whole: dict[tuple[str, bool], Verb] = {
            ("GET", False): self._list,
            ("GET", True): self._get,
            ("POST", False): self._create,
            ("PUT", True): self._update,
            ("PATCH", True): self._patch,
            ("DELETE", True): self._delete,
            ("DELETE", False): self._delete_all,
        }

    async def answer(self, ask: ApiRequest) -> VerbResult:
        """Answer a request. Raises `StatusError`."""
        if len(ask.request.body) > _LIMIT:
            raise StatusError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {_LIMIT}")
        subresource, method = ask.place.subresource, ask.request.method
        if subresource == "scale" and ask.kind.scale:
            return await self._scale(ask)
        if subresource == "eviction" and ask.kind.kind == "Pod" and method == "POST":
            return await self._evict(ask)
        if subresource == "log" and ask.kind.kind == "Pod":
            return self._no_logs(ask)
        if subresource and not (subresource == "status" and ask.kind.status):
            raise not_found(ask.kind, ask.place.name) if ask.kind.custom else unknown_path()
        verb = self._whole.get((method, bool(ask.place.name)))
        if verb is None or (subresource and method not in ("GET", "PUT", "PATCH")):
            raise not_allowed()
        if ask.kind.namespaced and not ask.place.namespace and (method != "GET" or ask.place.name):
            raise not_allowed()
        return await verb(ask)

    async def _get(self, ask: ApiRequest) -> VerbResult:
        return self._reader.watch(ask) if ask.flag("watch") else self._reader.get(ask)

    async def _list(self, ask: ApiRequest) -> VerbResult:
        return self._reader.watch(ask) if ask.flag("watch") else self._reader.list(ask)

    async def _create(self, ask: ApiRequest) -> VerbResult:
        return _answer(ask, await self._writer.create(ask, bodies.object_of(ask)))

    async def _update(self, ask: ApiRequest) -> VerbResult:
        new = bodies.object_of(ask)
        return _answer(ask, await self._writer.update(ask, lambda _: new))

    async def _patch(self, ask: ApiRequest) -> VerbResult:
        if ask.media == APPLY:
            return _answer(ask, await self._writer.apply(ask, bodies.object_of(ask)))
        return _answer(ask, await self._writer.update(ask, patching(ask)))

    async def _delete(self, ask: ApiRequest) -> VerbResult:
        entry, gone = await self._remover.delete(ask.kind, ask.key(), delete.options(ask))
        if gone and ask.kind.kind not in _SHOWN_WHEN_GONE:
            return Response(200, JSON, encode(_gone(ask, entry)))
        return _answer(ask, WriteResult(entry))

    async def _delete_all(self, ask: ApiRequest) -> VerbResult:
        how = delete.options(ask)
        found = self._reader.selected(ask)
        for (namespace, name), _ in found:
            key = ask.key(name)._replace(namespace=namespace)
            try:
                await self._remover.delete(ask.kind, key, how)
            except StatusError as refused:
                if refused.code != 404:  # somebody else deleted it first: as it should be
                    raise
        items = listed(ask.kind, found)
        meta = {**unsaid(ask.kind), "resourceVersion": str(self._reader.head)}
        head = encode({"kind": ask.kind.list_kind, "apiVersion": ask.kind.api_version, "metadata": meta})
        return Response(200, JSON, head[:-1] + b',"items":[' + b",".join(items) + b"]}")

    def _no_logs(self, ask: ApiRequest) -> VerbResult:
        """The log of a pod, which is empty. Raises `StatusError` if the pod does not exist or is bound to a node."""
        pod = msgspec.json.decode(self._reader.get(ask).body)
        if pod["spec"].get("nodeName"):
            raise bad_request(f"the sandbox runs nothing: pod {ask.place.name} has no logs")
        return Response(204, {}, b"")  # so does the real server, before there is a node

    async def _evict(self, ask: ApiRequest) -> VerbResult:
        how = delete.options(ask)
        await self._remover.delete(ask.kind, ask.key(), how)
        done = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
        return Response(201, JSON, encode(done))

    async def _scale(self, ask: ApiRequest) -> VerbResult:
        if ask.request.method == "GET":
            whole = self._reader.get(ask)
            return Response(200, JSON, scale.shown(ask.kind, whole.body))
        if ask.request.method not in ("PUT", "PATCH"):
            raise not_allowed()
        written = await self._writer.update(scale.on_the_whole(ask), scale.change(ask), through="scale")
        return Response(200, JSON, scale.shown(ask.kind, written.entry.data))


_SHOWN_WHEN_GONE = {"Pod", "ServiceAccount", "Namespace", "PersistentVolume", "PersistentVolumeClaim"}


def _answer(ask: ApiRequest, written: WriteResult) -> Response:
    said = {"Warning": ", ".join(f"299 - {encode(w).decode()}" for w in written.warnings)} if written.warnings else {}
    shape = versioned(ask.kind)
    data = shape(written.entry.data) if shape else written.entry.data
    return Response(201 if written.created else 200, {**JSON, **said}, data)


def _gone(ask: ApiRequest, entry: EncodedObject) -> Object:
    group = {"group": ask.kind.group} if ask.kind.group else {}
    uid = entry.read()["metadata"]["uid"]
    details = {"name": ask.place.name, **group, "kind": ask.kind.plural, "uid": uid}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
