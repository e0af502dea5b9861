"""One API in this process, and a client that says requests in one line."""

import asyncio
import json
import random
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Self

import pytest

from events.kube.client import Request, Response
from services.sandbox.api.server.app import Api
from services.sandbox.api.server.local import LocalTransport
from services.sandbox.api.store.journal import Journal, MemoryJournal
from services.sandbox.api.store.store import EncodedObject
from tests.contracts.api.kinds import SPEC, STATUS

EPOCH = datetime(2030, 1, 1, tzinfo=UTC)
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/demo.io/v1/namespaces/default/widgets"
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"

COLUMNS = [
    {"name": "Size", "type": "string", "jsonPath": ".spec.size"},
    {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
    {"name": "Color", "type": "string", "jsonPath": ".spec.color", "priority": 1},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
]


def definition(**changes: Any) -> dict[str, Any]:
    """A CRD of widgets; `changes` replace keys of its spec."""
    schema = {"type": "object", "description": "To try things on.", "properties": {"spec": SPEC, "status": STATUS}}
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}, "scale": scale}}
    version |= {"additionalPrinterColumns": COLUMNS, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "demo.io", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"}}
    return {"metadata": {"name": "widgets.demo.io"}, "spec": {**spec, "versions": [version], **changes}}


class Answer:
    """A response, decoded."""

    def __init__(self, response: Response) -> None:
        self.status = response.status
        self.headers = response.headers
        self.body = json.loads(response.body) if response.body[:1] in b"{[" else response.body.decode()

    @property
    def said(self) -> str:
        return self.body["message"]

    def __getitem__(self, name: str) -> Any:
        return self.body[name]

    @property
    def version(self) -> str:
        return self.body["metadata"]["resourceVersion"]


class Client:
    """Speaks to one cluster."""

    def __init__(self, api: Api, cluster: str = "management", token: str = "") -> None:
        self.transport = LocalTransport(api, cluster, token)

    async def ask(self, method: str, path: str, body: Any = None, media: str = "", accept: str = "", **query: str):
        sent = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        headers = {"Content-Type": media or "application/json", "Accept": accept or "application/json"}
        return Answer(await self.transport.send(Request(method, path, query, headers, sent)))

    async def get(self, path: str, **query: str):
        return await self.ask("GET", path, **query)

    async def create(self, path: str, body: Any, **query: str):
        return await self.ask("POST", path, body, **query)

    async def put(self, path: str, body: Any, **query: str):
        return await self.ask("PUT", path, body, **query)

    async def patch(self, path: str, body: Any, media: str = MERGE, **query: str):
        return await self.ask("PATCH", path, body, media, **query)

    async def apply(self, path: str, body: Any, by: str = "me", **query: str):
        return await self.ask("PATCH", path, body, APPLY, fieldManager=by, **query)

    async def delete(self, path: str, body: Any = None, **query: str):
        return await self.ask("DELETE", path, body, **query)

    async def names(self, path: str, **query: str) -> list[str]:
        return [item["metadata"]["name"] for item in (await self.get(path, **query))["items"]]

    async def watch(self, path: str, **query: str) -> AsyncIterator[dict]:
        asked = Request("GET", path, {"watch": "true", **query})
        async with aclosing(self.transport.stream(asked)) as lines:
            async for line in lines:
                yield json.loads(line) if isinstance(line, bytes) else Answer(line).body

    async def events(self, path: str, number: int, **query: str) -> list[dict]:
        """The next events of a watch."""
        found: list[dict] = []
        async with asyncio.timeout(10), aclosing(self.watch(path, **query)) as events:
            async for event in events:
                found.append(event)
                if len(found) == number:
                    break
        return found

    async def gone(self, path: str) -> None:
        """Wait until an object is there no more."""
        found = await self.get(path)
        if found.status == 404:
            return
        async with asyncio.timeout(10), aclosing(self.watch(path, resourceVersion=found.version)) as events:
            async for event in events:
                if event["type"] == "DELETED":
                    return


class Distant:
    """A journal that answers late and out of order, as one across a network does."""

    def __init__(self) -> None:
        self.inner = MemoryJournal()
        self.dice = random.Random(7)  # noqa: S311 - a test's dice
        self.held = ""
        """Writes whose subject holds this word wait until they are `let_go`."""
        self._open = asyncio.Event()

    def let_go(self) -> None:
        self._open.set()

    async def append(self, subject: str, data: bytes) -> int:
        if self.held and self.held in subject:
            await self._open.wait()
        await self._wander()
        revision = await self.inner.append(subject, data)
        await self._wander()
        return revision

    async def _wander(self) -> None:
        for _ in range(self.dice.randrange(8)):
            await asyncio.sleep(0)

    async def load(self) -> list[tuple[str, int, bytes]]:
        return await self.inner.load()

    async def head(self) -> int:
        return await self.inner.head()

    async def drop(self, cluster: str) -> None:
        await self.inner.drop(cluster)


class World:
    """An API on a journal, and what its clock says."""

    def __init__(self, journal: Journal | None = None, **options: Any) -> None:
        self.journal = journal or MemoryJournal()
        self.now = EPOCH
        self.uids = count(1)
        self.api = Api(self.journal, lambda: self.now, lambda: f"uid-{next(self.uids)}", **options)
        self.client = Client(self.api)

    def later(self, **span: float) -> None:
        self.now += timedelta(**span)

    async def __aenter__(self) -> Self:
        await self.api.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.api.close()
        for entry in self.entries():  # what was decoded, or never encoded, is what its bytes say; nobody changed it
            assert entry.read() == entry.object()

    def entries(self) -> list[EncodedObject]:
        tables = [table for each in self.api._store.clusters.values() for table in each.values()]
        return [entry for table in tables for entry in table.values()]


@pytest.fixture
def widget_definition() -> dict[str, Any]:
    return definition()


@pytest.fixture
def worlds() -> type[World]:
    return World


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with World() as world:
        yield world


@pytest.fixture
async def distant() -> AsyncIterator[World]:
    """An API whose journal is far away, serving widgets."""
    async with World(Distant()) as world:
        assert (await world.client.create(CRDS, definition())).status == 201
        yield world


@pytest.fixture
async def client(world: World) -> Client:
    """A client of a cluster that serves widgets."""
    assert (await world.client.create(CRDS, definition())).status == 201
    return world.client
