"""A management cluster and many founded clusters, among which the add-on service runs as it is composed."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from events.bus import Message
from events.errors import NotFound, TryLater
from events.kube.client import Changed, Kube, Object, Request, Resource, Response
from events.kube.resources import ADDONPROFILES, CLUSTERADDONPROFILES, CONFIGMAPS, NAMESPACES, SECRETS
from events.kube.resources import CRDS as DEFINITIONS
from events.memory.bus import MemoryBus
from schemas import cluster
from schemas.cluster import ClusterState, Ready, Released
from schemas.crds import CRDS
from schemas.placement import Attempt, Placement
from schemas.registry import declared
from schemas.subjects import Key
from schemas.teardown import Cleaning
from schemas.wish import AddonRef, Need, Pool, Wish
from services.addons.service import AddonSettings, service
from services.clients.workload_clusters import WorkloadClusters
from services.compose import EntityService, Ports
from services.sandbox.api.server.app import Api
from services.sandbox.api.server.local import LocalTransport
from services.sandbox.api.store.journal import MemoryJournal
from services.sandbox.api.store.watch import OpenWatch
from tests.context import context

START = datetime(2026, 1, 1, tzinfo=UTC)
TENANT = "acme"
NEED = Need(pools=(Pool(name="gpu", accelerator="H100", accelerators_per_node=8, nodes=2),))
ATTEMPT = Attempt(number=1, placement=Placement(cloud="aws", region="eu-west-1", lots=()))


def now() -> datetime:
    """On the clock of the event loop, which tests may turn."""
    return START + timedelta(seconds=asyncio.get_running_loop().time())


def config_map(name: str, **data: str) -> str:
    return msgspec.json.encode(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
    ).decode()


def of_maps(name: str, maps: dict[str, str], **more: Any) -> Object:
    """An add-on of ConfigMaps, whose `size` is given by their names."""
    documents = (config_map(each, size=size) for each, size in maps.items())
    return {"name": name, "manifests": "\n---\n".join(documents), **more}


class CountingApi(Api):
    """Notes every write that it is asked for, but for dry runs."""

    writes = 0

    async def handle(self, request: Request) -> Response | OpenWatch:
        self.writes += request.method not in {"GET", "HEAD"} and "dryRun" not in request.query
        return await super().handle(request)


class Away:
    """The API of a cluster that does not answer."""

    async def send(self, request):
        raise TryLater("the connection was refused")

    async def stream(self, request):
        raise TryLater("the connection was refused")
        yield

    async def close(self):
        pass


class Fleet:
    """Clusters of one Colony each, and the service."""

    def __init__(self, api: CountingApi, folder: Path | None = None) -> None:
        self._api = api
        self._folder = folder
        self.bus = MemoryBus(clock=now)
        self.management = Kube(LocalTransport(api, "management"), random=lambda: 0.5)
        self.clusters: dict[str, Kube] = {}
        self.real: dict[str, Kube] = {}
        """Clients of clusters outside the sandbox, by their kubeconfig."""
        self._running: asyncio.Task[None] | None = None

    async def found(self, name: str, uid: str = "u1", addons: tuple[AddonRef, ...] = (), **labels: str) -> None:
        """Found a cluster, and publish that it is ready."""
        await self._api.found(f"{name}-{uid}")
        self.clusters[name] = Kube(LocalTransport(self._api, f"{name}-{uid}"), random=lambda: 0.5)
        await self.adopt(name, f"{name}-{uid}", uid, addons, **labels)

    async def adopt(
        self, name: str, kubeconfig: str, uid: str = "u1", addons: tuple[AddonRef, ...] = (), **labels: str
    ) -> None:
        """Publish that a cluster is ready which this kubeconfig opens."""
        data = {"value": base64.b64encode(kubeconfig.encode()).decode()}
        meta = {"name": f"{name}-kubeconfig", "namespace": TENANT}
        await self.management.apply(SECRETS, {"metadata": meta, "data": data}, manager="test")
        await self.say(self.ready(name, uid, addons, **labels))

    def ready(self, name: str, uid: str = "u1", addons: tuple[AddonRef, ...] = (), **labels: str) -> Ready:
        colony, _, short = name.rpartition("-")
        wish = Wish(
            tenant=TENANT, colony=colony, cluster=short, uid=f"c-{uid}", generation=1, need=NEED, addons=addons,
            labels=tuple(sorted(labels.items())),
        )  # fmt: skip
        return Ready(
            uid=uid, correlation=f"c-{uid}", wish=wish, since=now(), attempt=ATTEMPT, attempts=1, billed_since=START,
            kubeconfig=f"{name}-kubeconfig",
        )  # fmt: skip

    async def say(self, state: ClusterState) -> None:
        subject = declared(type(state)).at(state.wish.tenant, state.wish.name)
        await self.bus.publish(Message(subject, msgspec.json.encode(state)))

    async def release(self, name: str, uid: str = "u1") -> None:
        """The cluster is gone, and so is everything on it."""
        ready = self.ready(name, uid)
        await self.say(Released(uid=uid, correlation=f"c-{uid}", wish=ready.wish, since=now(), reason="Deleted"))

    @property
    def writes(self) -> int:
        """Writes that any cluster was asked for until now, the management cluster too."""
        return self._api.writes

    async def profile(self, name: str, *addons: Object, namespace: str = TENANT, **spec: Any) -> None:
        """Apply an AddonProfile; a ClusterAddonProfile without a namespace."""
        meta = {"name": name} | ({"namespace": namespace} if namespace else {})
        document = {"metadata": meta, "spec": {"addons": list(addons), **spec}}
        await self.management.apply(self.kind(namespace), document, manager="user")

    async def drop(self, name: str, namespace: str = TENANT) -> None:
        await self.management.delete(self.kind(namespace), name, namespace or None)

    @staticmethod
    def kind(namespace: str) -> Resource:
        return ADDONPROFILES if namespace else CLUSTERADDONPROFILES

    async def status(self, name: str, namespace: str = TENANT) -> Object:
        return (await self.management.get(self.kind(namespace), name, namespace or None)).get("status", {})

    async def start(self) -> None:
        """Run the service as the composition root does."""

        async def open_cluster(kubeconfig: str) -> Kube:
            if kubeconfig in self.real:
                return self.real[kubeconfig]
            return Kube(LocalTransport(self._api, kubeconfig), random=lambda: 0.5)

        made = context(self.bus, now)
        workloads = WorkloadClusters(self.management, open_cluster)
        ports = Ports(made, self.management, open_cluster, {}, (), "capi")
        settings = AddonSettings(self._folder) if self._folder else None
        entity_service = EntityService(ports, *service(made, self.management, workloads, settings), workloads)
        self._running = asyncio.create_task(entity_service.run())
        await entity_service.ready.wait()

    async def stop(self) -> None:
        if self._running is not None:
            self._running.cancel()
            with suppress(asyncio.CancelledError):
                await self._running

    async def get(self, name: str, what: str, kind: Resource = CONFIGMAPS, namespace: str = "default") -> Object | None:
        """An object of a cluster; None if it is not there."""
        try:
            return await self.clusters[name].get(kind, what, namespace)
        except NotFound:
            return None

    async def until(self, look: Callable[[], Awaitable[Any]], within: float = 120.0) -> Any:
        """What `look` gives once it is true."""
        async with asyncio.timeout(within):
            while not (found := await look()):
                if self._running is not None and self._running.done():
                    self._running.result()
                await asyncio.sleep(0.05)
            return found

    async def has(self, name: str, *configs: str, within: float = 120.0) -> None:
        """Wait until a cluster has these ConfigMaps of add-ons, and no others."""

        async def look() -> bool:
            listed = (await self.clusters[name].list(CONFIGMAPS, "default", labels="alate.dev/addon")).items
            return {each["metadata"]["name"] for each in listed} == set(configs)

        await self.until(look, within)

    async def states(self, name: str, addon: str) -> list[str]:
        """What became of an add-on, in order."""
        said = await self.bus.read("EVENTS", Key("addon", TENANT, f"{name}.{addon}").history)
        return [one.subject.split(".")[1] for one in said]

    async def is_now(self, name: str, addon: str, state: str) -> None:
        """Wait until an add-on is in a state."""

        async def look() -> bool:
            return [state] == (await self.states(name, addon))[-1:]

        await self.until(look, 600.0)

    async def says(self, name: str, addon: str, text: str) -> None:
        """Wait until the message of an add-on holds a text."""

        async def look() -> bool:
            return text in await self.message(name, addon)

        await self.until(look, 600.0)

    async def never_absent(self, name: str, what: str, kind: Resource = CONFIGMAPS) -> None:
        """Watch an object until cancelled, and fail once it is deleted."""
        async for sight in self.clusters[name].watch(kind, "default"):
            if isinstance(sight, Changed) and sight.gone and sight.object["metadata"]["name"] == what:
                raise AssertionError(f"{what} was absent")

    async def message(self, name: str, addon: str) -> str:
        """What an add-on says now."""
        said = await self.bus.read("EVENTS", Key("addon", TENANT, f"{name}.{addon}").history)
        return msgspec.json.decode(said[-1].data).get("message", "") if said else ""

    async def clean(self, name: str, *addons: str, uid: str = "u1") -> None:
        """The cluster's teardown has come to its add-ons."""
        ready = self.ready(name, uid)
        order = Cleaning(
            uid=uid, correlation=f"c-{uid}", wish=ready.wish, reason="Deleted", deadline=now(), addons=addons
        )
        await self.bus.publish(Message(declared(Cleaning).at(TENANT, name), msgspec.json.encode(order)))


@asynccontextmanager
async def fleet(folder: Path | None = None) -> AsyncIterator[Fleet]:
    """A fleet without clusters, whose service runs."""
    numbers = count(1)
    api = CountingApi(MemoryJournal(), now, lambda: f"uid-{next(numbers)}")
    await api.start()
    made = Fleet(api, folder)
    for crd in CRDS:
        await made.management.create(DEFINITIONS, crd.manifest())
    await made.management.create(NAMESPACES, {"metadata": {"name": TENANT}})
    await made.start()
    try:
        yield made
    finally:
        await made.stop()
        await api.close()


__all__ = ["TENANT", "Away", "Fleet", "cluster", "config_map", "fleet", "of_maps"]
