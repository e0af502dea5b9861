"""Clusters behind one HTTPS port, the add-on service beside them in a process of its own, and when each was written."""

import asyncio
import base64
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec

from events.bus import Bus, Message
from events.jetstream.bus import connect
from events.jetstream.server import NatsServer
from events.kube.client import Kube, Object, Request, Response
from events.kube.resources import ADDONPROFILES, CONFIGMAPS, NAMESPACES, SECRETS
from events.kube.resources import CRDS as DEFINITIONS
from schemas.cluster import Ready
from schemas.crds import CRDS
from schemas.placement import Attempt, Placement
from schemas.registry import declared
from schemas.wish import Need, Pool, Wish
from services.local.probe import free_ports, http
from services.sandbox.api.server.app import MANAGEMENT, Api
from services.sandbox.api.server.http import Server
from services.sandbox.api.server.kubeconfig import kubeconfig
from services.sandbox.api.server.local import LocalTransport
from services.sandbox.api.status import StatusError
from services.sandbox.api.store.journal import MemoryJournal
from services.sandbox.api.store.watch import OpenWatch
from services.sandbox.state import identity

TENANT = "acme"
NEED = Need(pools=(Pool(name="gpu", accelerator="H100", accelerators_per_node=8, nodes=2),))
ATTEMPT = Attempt(number=1, placement=Placement(cloud="aws", region="eu-west-1", lots=()))
READS = ("GET", "HEAD")
REFUSED = 300
"""Answers from this status on changed nothing."""
PAUSE = 0.02
"""Seconds between two looks at what has changed: each change has its own time."""
LONGEST = 600.0
"""Seconds after which a measurement is given up."""


def config_map(name: str, size: str) -> str:
    meta = {"name": name, "namespace": "default"}
    return msgspec.json.encode(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"size": size}}
    ).decode()


class Counting(Api):
    """Counts requests and the writes to clusters, keeps what they hold, and refuses everything while it is away."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.requests = self.writes = 0
        self.away = False
        self.written: dict[tuple[str, str], list[str]] = {}
        """By cluster and ConfigMap of an add-on: each content that differs from the one before; empty: deleted."""

    async def handle(self, request: Request) -> Response | OpenWatch:
        self.requests += 1
        if self.away:
            return StatusError(503, "ServiceUnavailable", "the API server is away").response()
        answer = await super().handle(request)
        if request.method not in READS and not request.path.startswith(f"/clusters/{MANAGEMENT}/"):
            self.writes += "dryRun" not in request.query
            self._keep(request, answer)
        return answer

    def _keep(self, request: Request, answer: Response | OpenWatch) -> None:
        _, _, place, *path = request.path.split("/")
        if path[-3:-1] != ["default", "configmaps"] or "dryRun" in request.query or not isinstance(answer, Response):
            return
        held = msgspec.yaml.decode(request.body)["data"]["size"] if request.method == "PATCH" else ""
        known = self.written.setdefault((place, path[-1]), [])
        if answer.status < REFUSED and known[-1:] != [held]:
            known.append(held)

    def leave(self) -> None:
        """Refuse everything from now on, and end every watch."""
        self.away = True
        self._hub.end(lambda _: True)


class World:
    """The clusters, the bus, and the service."""

    def __init__(self, folder: Path, nats: NatsServer, bus: Bus) -> None:
        uids = count(1)
        self.folder = folder
        self.nats = nats
        self._bus = bus
        self._who = identity(folder, datetime.now(UTC))
        self.api = Counting(MemoryJournal(), lambda: datetime.now(UTC), lambda: f"uid-{next(uids)}")
        self._server = Server(self.api, 0, self._who.context(folder))
        self.management = Kube(LocalTransport(self.api, MANAGEMENT), random=lambda: 0.5)
        self.names: list[str] = []
        self.changes: dict[str, list[float]] = {}
        """When ConfigMaps of each cluster changed, in seconds of `perf_counter`."""
        self._service: asyncio.subprocess.Process | None = None
        self.api.follow(self._note)

    def _note(self, place: str, _: str, plural: str) -> None:
        if plural == "configmaps" and place != MANAGEMENT:
            self.changes.setdefault(place, []).append(perf_counter())

    @property
    def pid(self) -> int:
        """The process of the service."""
        return self._service.pid if self._service else 0

    async def open(self) -> None:
        await self.api.start()
        await self._server.start()
        (self.folder / "management").write_text(self._kubeconfig(MANAGEMENT))
        for crd in CRDS:
            await self.management.create(DEFINITIONS, crd.manifest())
        await self.management.create(NAMESPACES, {"metadata": {"name": TENANT}})

    async def close(self) -> None:
        await self.stop()
        await self.api.close()
        await self._server.stop()

    def _kubeconfig(self, place: str) -> str:
        return kubeconfig(self._server.url, place, self._who.certificate)

    async def build(self, number: int) -> None:
        """Clusters of which nobody knows yet."""
        for name in (f"c{each}-gpu" for each in range(number)):
            self.names.append(name)
            await self.api.found(name)
            (self.folder / f"{name}.kubeconfig").write_text(self._kubeconfig(name))
            data = {"value": base64.b64encode(self._kubeconfig(name).encode()).decode()}
            await self.management.create(
                SECRETS, {"metadata": {"name": f"{name}-kubeconfig", "namespace": TENANT}, "data": data}
            )

    async def ready(self, name: str) -> None:
        """Publish that a cluster is ready."""
        colony, _, short = name.rpartition("-")
        wish = Wish(tenant=TENANT, colony=colony, cluster=short, uid=f"c-{name}", generation=1, need=NEED)
        now = datetime.now(UTC)
        state = Ready(
            uid=f"u-{name}", correlation="bench", wish=wish, since=now, attempt=ATTEMPT, attempts=1, billed_since=now,
            kubeconfig=f"{name}-kubeconfig",
        )  # fmt: skip
        await self._bus.publish(Message(declared(Ready).at(TENANT, name), msgspec.json.encode(state)))

    async def profile(self, profile: str, size: str, name: str = "one") -> None:
        """A profile with one ConfigMap of this name."""
        await self.profile_of(profile, {name: size})

    async def profile_of(self, profile: str, sizes: Mapping[str, str], **spec: Any) -> None:
        """A profile of ConfigMaps by name, with more of its spec."""
        addons = [{"name": name, "manifests": config_map(name, size)} for name, size in sizes.items()]
        document: Object = {"metadata": {"name": profile, "namespace": TENANT}, "spec": {"addons": addons, **spec}}
        await self.management.apply(ADDONPROFILES, document, manager="user")

    async def drift(self, place: str, name: str, size: str) -> None:
        kube = Kube(LocalTransport(self.api, place), random=lambda: 0.5)
        await kube.patch(CONFIGMAPS, name, "default", {"data": {"size": size}}, manager="somebody")

    async def until(self, changes: int, places: list[str]) -> dict[str, float]:
        """When each of these clusters had changed so often."""
        left = set(places)
        async with asyncio.timeout(LONGEST):
            while left := {place for place in left if len(self.changes.get(place, ())) < changes}:  # noqa: ASYNC110 - see `PAUSE`
                await asyncio.sleep(PAUSE)
        return {place: self.changes[place][changes - 1] for place in places}

    async def start(self) -> None:
        """Run the service until it is ready."""
        (port,) = free_ports(1)
        environment = {
            "ALATE_NATS_URL": self.nats.url,
            "ALATE_KUBECONFIG": str(self.folder / "management"),
            "ALATE_HEALTH_ADDRESS": f"127.0.0.1:{port}",
            "ALATE_STATE_DIR": str(self.folder / "state"),
            "ALATE_CLUSTERS_ALLOW": "private,loopback",
            "ALATE_LOG_LEVEL": "warning",
        }
        with (self.folder / "service.log").open("ab") as log:
            self._service = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "services", "addons", env={**os.environ, **environment}, stdout=log, stderr=log
            )
        ready = http(port, "/readyz")
        async with asyncio.timeout(LONGEST):
            while not await ready():  # noqa: ASYNC110 - another process has no event of ours
                await asyncio.sleep(0.1)

    async def kill(self) -> None:
        """End the service with SIGKILL."""
        if self._service:
            self._service.kill()
            await self._service.wait()

    async def stop(self) -> None:
        if self._service and self._service.returncode is None:
            self._service.terminate()
            await self._service.wait()


@asynccontextmanager
async def world(folder: Path, clusters: int) -> AsyncIterator[World]:
    """So many clusters that are not announced yet; the service runs."""
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(NatsServer(folder / "nats"))
        bus = await connect(server.url, name="bench")
        stack.push_async_callback(bus.close)
        made = World(folder, server, bus)
        await made.open()
        stack.push_async_callback(made.close)
        await made.build(clusters)
        await made.start()
        yield made
