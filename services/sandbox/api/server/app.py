"""The API of all clusters in the process; each is served below its name."""

import asyncio
from collections.abc import Callable, Mapping, MutableMapping

from events.bus import Unavailable
from events.kube.client import Request, Resource, Response
from services.sandbox.api.objects.collect import Collector
from services.sandbox.api.objects.delete import Remover
from services.sandbox.api.objects.expire import Expiry
from services.sandbox.api.objects.read import Reader
from services.sandbox.api.objects.reviews import review
from services.sandbox.api.objects.rights import Rights
from services.sandbox.api.objects.write import NewUid, ObjectWriter
from services.sandbox.api.schema.catalog import Catalog
from services.sandbox.api.schema.kinds import builtins
from services.sandbox.api.server.discovery import Discovery
from services.sandbox.api.server.verbs import Verbs
from services.sandbox.api.status import StatusError, unknown_path
from services.sandbox.api.store.journal import Journal
from services.sandbox.api.store.store import WINDOW, ObjectKey, Store, Topic, encode
from services.sandbox.api.store.watch import Hub, OpenWatch
from services.sandbox.api.wire.accept import Tables
from services.sandbox.api.wire.request import ApiRequest, RequestClock, ResourcePath, place

MANAGEMENT = "management"
"""The management cluster, which always exists."""
HEALTH = ("/healthz", "/livez", "/readyz")
"""Health paths of the process, which need no cluster in their path."""
_OF_A_CLUSTER = 3  # slashes in ``/clusters/<name>/readyz``
SEEDED = ("default", "kube-system")
"""The namespaces that every cluster starts with."""


class Api:
    """All clusters. `start` it before the first request, `close` it after the last."""

    def __init__(
        self,
        journal: Journal,
        clock: RequestClock,
        new_uid: NewUid,
        *,
        tokens: Mapping[str, str] | None = None,
        window: int = WINDOW,
    ) -> None:
        """`tokens` are bearer tokens by cluster: a cluster with one answers 401 without it."""
        self.tokens: MutableMapping[str, str] = dict(tokens or {})
        self._store = Store(journal, window)
        self._hub = Hub(self._store)
        self._catalog = Catalog(self._store)
        self._writer = ObjectWriter(self._store, self._catalog, clock, new_uid)
        self._remover = Remover(self._store, clock)
        self._collector = Collector(self._store, self._catalog, self._writer, self._remover)
        self._expiry = Expiry(self._store, self._remover, clock)
        self._rights = Rights(self._store)
        self._discovery = Discovery(self._catalog)
        self._verbs = Verbs(Reader(self._store, self._hub, Tables(clock)), self._writer, self._remover)
        self._writes: set[asyncio.Task[Response | OpenWatch]] = set()
        self._tasks: tuple[asyncio.Task[None], ...] = ()

    async def start(self) -> None:
        """Read the journal, create the management cluster, start garbage collection and expiry."""
        await self._store.load()
        self._catalog.load()
        self._collector.load()
        self._tasks = tuple(map(asyncio.create_task, (self._collector.run(), self._expiry.run())))
        await self.found(MANAGEMENT)

    async def close(self) -> None:
        """End every watch, finish pending writes, stop."""
        self._hub.end(lambda _: True)
        await asyncio.gather(*self._writes, return_exceptions=True)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def clusters(self) -> tuple[str, ...]:
        """The names of all clusters."""
        return tuple(self._store.clusters)

    def holds(self, cluster: str, resource: Resource) -> bool:
        """Whether a cluster has any object of a kind."""
        return bool(self._store.table(Topic(cluster, resource.group, resource.plural)))

    def follow(self, listener: Callable[[str, str, str], None]) -> None:
        """Call the listener with cluster, group and plural of every visible change."""
        self._store.listeners.append(lambda change: listener(*change.key[:3]))

    async def found(self, name: str) -> None:
        """Create the cluster with its initial namespaces, unless it exists."""
        self._store.clusters.setdefault(name, {})
        kind = builtins()["", "v1", "namespaces"]
        for namespace in SEEDED:
            if not self._store.get(ObjectKey(name, "", "namespaces", "", namespace)):
                body = encode({"metadata": {"name": namespace}})
                asked = Request("POST", "/api/v1/namespaces", {"fieldManager": "kube-apiserver"}, {}, body)
                await self._verbs.answer(ApiRequest(asked, name, kind, ResourcePath("", "v1", "namespaces")))

    async def drop(self, name: str) -> None:
        """Delete the cluster and everything in it; its watches end without events."""
        self._hub.end(lambda topic: topic.cluster == name)
        self._catalog.forget(name)
        self.tokens.pop(name, None)
        await self._store.drop(name)

    async def handle(self, request: Request) -> Response | OpenWatch:
        """Answer one request; the caller reads a returned `OpenWatch` or closes it."""
        if request.path in HEALTH:
            return Response(200, {"Content-Type": "text/plain"}, b"ok")
        try:
            if request.path.endswith(HEALTH) and request.path.count("/") == _OF_A_CLUSTER:
                return Response(200, {"Content-Type": "text/plain"}, b"ok")
            cluster, path = self._cluster(request)
            if request.method in ("GET", "HEAD"):
                return await self._answer(request, cluster, path)
            # Somebody who goes away while the journal is being written must not leave half a write behind.
            task = asyncio.create_task(self._answer(request, cluster, path))
            self._writes.add(task)
            task.add_done_callback(self._writes.discard)
            return await asyncio.shield(task)
        except StatusError as refused:
            return refused.response()
        except Unavailable as unavailable:
            return StatusError(503, "ServiceUnavailable", f"the journal cannot be written: {unavailable}").response()

    def _cluster(self, request: Request) -> tuple[str, str]:
        match request.path.split("/", 3):
            case ["", "clusters", name, path] if name in self._store.clusters:
                token = self.tokens.get(name)
                given = {k.lower(): v for k, v in request.headers.items()}.get("authorization", "")
                if token and given != f"Bearer {token}":
                    raise StatusError(401, "Unauthorized", "Unauthorized")
                return name, f"/{path}"
        raise unknown_path()

    async def _answer(self, request: Request, cluster: str, path: str) -> Response | OpenWatch:
        where = place(path)
        if where and where.plural:
            kind = self._catalog.find(cluster, where.group, where.version, where.plural)
            if kind is None:
                return review(request, where)
            ask = ApiRequest(request, cluster, kind, where)
            self._rights.check(ask)
            return await self._verbs.answer(ask)
        return self._discovery.answer(request, cluster, path)
