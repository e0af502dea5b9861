"""The same story is told to every API server: clusters asked for in every way, founded, fitted out and gone."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from events.bus import Bus, Message
from events.cloudevents import CloudEvent, encode
from events.errors import NotFound
from events.kube.client import Kube, Object
from events.kube.kubeconfig import parsed
from events.kube.resources import CLUSTERDEPLOYMENTS, CLUSTERS, COLONIES, MACHINES, SECRETS, TRIGGERS
from events.meters import Meters
from services.clients.catalog_sources import SAMPLE, sources
from services.clouds.port import backends
from services.compose import SERVICES, Ports, composed
from services.edge.page.colonies import ActionOptions
from services.market.catalog_parser import read_folder
from services.outbound.service import Receivers
from services.runtime.context import Context
from services.sandbox.api.server.app import MANAGEMENT, Api
from services.sandbox.api.server.kubeconfig import kubeconfig
from services.sandbox.api.server.local import LocalTransport
from services.sandbox.clouds.engine.manager import Clouds
from services.sandbox.clouds.engine.workload_manager import WorkloadSimulation
from services.sandbox.clouds.model.pace import Pace
from services.sandbox.clouds.model.shapes import shapes
from services.sandbox.clouds.model.snapshot import SimulationRules
from tests.services.outbound.world import Fake

TARGETS = Path(__file__).parents[1] / "data" / "outbound"
"""A receiver of CDEvents, for which histories are read."""
PATIENCE = 90.0
"""Seconds for each part: the garbage collector of a real control plane hears of new kinds every 30 s."""
PACE = 0.05
NOTE = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: note\ndata:\n  a: b\n"
LEFT = (CLUSTERS, CLUSTERDEPLOYMENTS, MACHINES, SECRETS)


class Inside:
    """Founded clusters, in one API in this process."""

    def __init__(self, api: Api) -> None:
        self.api = api

    async def found(self, place: str) -> str:
        await self.api.found(place)
        return kubeconfig("https://inside", place, "an authority")

    async def drop(self, place: str) -> None:
        if place in self.api.clusters:
            await self.api.drop(place)

    def kube(self, place: str) -> Kube:
        return Kube(LocalTransport(self.api, place), random=random.random)

    async def open(self, text: str) -> Kube:
        """The way to the place that the kubeconfig names."""
        return self.kube(parsed(text, "it")["current-context"])


@dataclass
class Stage:
    """Where the story is played."""

    admin: Kube
    """Opens everything in the management cluster, which has kinds and templates already."""
    inside: Inside
    bus: Callable[[], Bus]
    clock: Callable[[], datetime]
    kubes: Mapping[str, Kube]
    """Each service's own way into the management cluster."""
    pace: float = PACE
    """How slow the simulated clouds are."""

    def ports(self, service: str) -> Ports:
        kube = self.kubes[service]
        return Ports(
            context=Context(self.bus(), self.clock, random.random, Meters()),
            management=kube,
            open_cluster=self.inside.open,
            clouds=backends(kube),
            sources=sources(str(SAMPLE)),
            backend="capi",
            receivers=Receivers(TARGETS / "targets.yaml", TARGETS, Fake().opened),
        )

    @property
    def site(self) -> Any:
        """The edge's page."""
        edge = self.services["edge"]
        return getattr(edge, "_running", edge)._site

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The simulated clouds as the administrator, and every service as itself."""
        offers = (offer for catalog in read_folder(SAMPLE).values() for offer in catalog.offers)
        rules = SimulationRules(pace=Pace().times(self.pace), shapes=shapes(offers))
        workloads = WorkloadSimulation(self.inside, self.inside.api.holds, self.clock, self.pace)
        self.inside.api.follow(lambda *of: workloads.changed(*of) if of[0] != MANAGEMENT else None)
        self.services: dict[str, Any] = {name: composed(name, self.ports(name)) for name in SERVICES}
        loops: tuple[Any, ...] = (Clouds(self.admin, self.inside, rules, self.clock), *self.services.values())
        async with AsyncExitStack() as stack:
            tasks = [asyncio.create_task(loop.run()) for loop in loops]
            tasks.append(asyncio.create_task(workloads.run(())))
            stack.push_async_callback(_ended, tasks)
            for each in self.services.values():
                await asyncio.wait_for(each.ready.wait(), PATIENCE)
            yield

    async def colony(self, name: str) -> Object | None:
        try:
            return await self.admin.get(COLONIES, name, "default")
        except NotFound:
            return None

    async def until(self, what: str, true: Callable[[Object | None], bool], name: str) -> None:
        """Look at a Colony until it is so. Raises TimeoutError, with what it showed last."""
        shown: Object | None = None
        try:
            async with asyncio.timeout(PATIENCE):
                while not true(shown := await self.colony(name)):  # noqa: ASYNC110 - a real condition, looked at
                    await asyncio.sleep(0.05)
        except TimeoutError as late:
            raise TimeoutError(f"{name} is not {what}: {(shown or {}).get('status')}") from late


async def _ended(tasks: Iterable[asyncio.Task[None]]) -> None:
    tasks = list(tasks)
    for task in tasks:
        task.cancel()
    for found in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(found, Exception):
            raise found


def spec(nodes: int = 1) -> Object:
    """One cluster for each back end, with an add-on."""
    pools = [{"accelerator": "H100", "acceleratorsPerNode": 8, "nodes": nodes}]
    addons = [{"name": "note", "manifests": NOTE}]
    clusters = [
        {"name": name, "backend": name, "clouds": ["aws"], "pools": pools, "addons": addons, "timeToLive": "6h"}
        for name in ("capi", "k0rdent")
    ]
    return {"clusters": clusters}


async def ask(bus: Bus, name: str, now: datetime) -> None:
    """Somebody on the bus asks for a Colony."""
    data = msgspec.json.encode({"tenant": "default", "name": name, "spec": spec()})
    event = CloudEvent(
        id=name, source="/tests", type="dev.alate.cluster.requested", subject=name, time=now, data=data
    )  # fmt: skip
    headers, body = encode(event)
    await bus.publish(Message("cluster.requested.default", body, headers))


async def release(bus: Bus, name: str, now: datetime) -> None:
    """Somebody on the bus needs it no more."""
    data = msgspec.json.encode({"tenant": "default", "name": name})
    event = CloudEvent(id=f"{name}-end", source="/tests", type="dev.alate.colony.release", time=now, data=data)
    headers, body = encode(event)
    await bus.publish(Message(f"colony.release.default.{name}", body, headers))


def rule() -> Object:
    """A Trigger that is never asked."""
    rules = [{"name": "end", "when": "false", "then": "Release"}]
    objects = [{"name": "maps", "apiVersion": "v1", "kind": "ConfigMap", "when": "false"}]
    meta = {"name": "idle", "namespace": "default"}
    return {"metadata": meta, "spec": {"name": "idle", "objects": objects, "rules": rules}}


async def play(stage: Stage) -> None:
    """From a Colony that kubectl wrote, and one asked for on the bus, to nothing left of either."""
    written = {"metadata": {"name": "written", "namespace": "default"}, "spec": spec()}
    await stage.admin.apply(COLONIES, written, manager="kubectl")
    await stage.admin.apply(TRIGGERS, rule(), manager="kubectl")
    bus = stage.bus()
    await ask(bus, "asked", stage.clock())
    for name in ("written", "asked"):
        await stage.until("ready and fitted out", _whole, name)
    await resized(stage, "written", 3)
    await resized(stage, "written", 1)
    await extended(stage, bus)
    await viewed(stage)
    await scaled(stage, bus)
    for pools in (2, 1):
        await widened(stage, pools)
    await upgraded(stage, "v1.35.0")
    await stage.site._colonies.delete("default", "written", force=False)
    await release(bus, "asked", stage.clock())
    await bus.close()
    for name in ("written", "asked"):
        await stage.until("gone", lambda found: found is None, name)
    told = (await stage.admin.get(TRIGGERS, "idle", "default"))["status"]["conditions"]
    holds = {each["type"]: each["status"] for each in told}
    assert holds == {"Accepted": "True", "Ready": "True", "Stalled": "False", "Watching": "True"}
    left = {each.plural: len((await stage.admin.list(each, "default")).items) for each in LEFT}
    assert left == dict.fromkeys(left, 0)


async def scaled(stage: Stage, bus: Bus) -> None:
    """Somebody on the bus gives one cluster another node; whoever applies the Colony takes it over again."""
    await say(bus, "scale", "colony.scale", stage.clock(), nodes={"gpu": 2})
    await stage.until("scaled", lambda colony: (colony or {})["status"]["clusters"][0]["nodesReady"] == 2, "written")
    await resized(stage, "written", 1)


async def extended(stage: Stage, bus: Bus) -> None:
    """Somebody on the bus lets one cluster live longer."""

    def later(colony: Object | None) -> bool:
        ends = {each["name"]: each["expiresAt"] for each in (colony or {})["status"]["clusters"]}
        return bool(ends["capi"] > ends["k0rdent"])

    await say(bus, "extend", "colony.extend", stage.clock(), timeToLive="12h")
    await stage.until("extended", later, "written")


async def viewed(stage: Stage) -> None:
    """An operator opens the page of a cluster, and extends another one there."""
    colonies = stage.site._colonies
    assert (await colonies.view("default", "written", "capi")).status["phase"] == "Ready"
    await colonies.change("default", "written", "k0rdent", "extend", ActionOptions(time_to_live="12h"))


async def say(bus: Bus, verb: str, subject: str, now: datetime, **more: Any) -> None:
    """Somebody on the bus changes one cluster."""
    word = {"tenant": "default", "name": "written", "cluster": "capi"} | more
    event = CloudEvent(
        id=verb, source="/tests", type=f"dev.alate.colony.{verb}", time=now, data=msgspec.json.encode(word)
    )
    headers, body = encode(event)
    await bus.publish(Message(f"{subject}.default.written.capi", body, headers))


async def resized(stage: Stage, name: str, nodes: int) -> None:
    """Somebody edits the nodes of both clusters; they are ready all the while, and then of that size."""
    wanted = {"metadata": {"name": name, "namespace": "default"}, "spec": spec(nodes)}
    generation = (await stage.admin.apply(COLONIES, wanted, manager="kubectl"))["metadata"]["generation"]

    def settled(colony: Object | None) -> bool:
        shown = (colony or {})["status"]
        conditions = {c["type"]: (c["status"], c["observedGeneration"]) for c in shown["conditions"]}
        assert conditions["Ready"][0] == "True", shown
        sizes = {(each["nodesReady"], each["offer"]["pricePerHour"] > 0) for each in shown["clusters"]}
        return conditions["Resizing"] == ("False", generation) and sizes == {(nodes, True)}

    await stage.until(f"of {nodes} nodes", settled, name)


async def widened(stage: Stage, pools: int) -> None:
    """Somebody gives one cluster so many pools of one node each; it is ready all the while."""
    edited = spec()
    pool = edited["clusters"][0]["pools"][0]
    edited["clusters"][0]["pools"] = [pool | {"name": name} for name in ("gpu", "more")[:pools]]
    wanted = {"metadata": {"name": "written", "namespace": "default"}, "spec": edited}
    generation = (await stage.admin.apply(COLONIES, wanted, manager="kubectl"))["metadata"]["generation"]

    def settled(colony: Object | None) -> bool:
        shown = (colony or {})["status"]
        conditions = {c["type"]: (c["status"], c["observedGeneration"]) for c in shown["conditions"]}
        assert conditions["Ready"][0] == "True", shown
        return conditions["Resizing"] == ("False", generation) and shown["clusters"][0]["nodesReady"] == pools

    await stage.until(f"of {pools} pools", settled, "written")


async def upgraded(stage: Stage, version: str) -> None:
    """Somebody gives both clusters another version of Kubernetes; they are ready all the while."""
    edited = spec()
    for each in edited["clusters"]:
        each["kubernetesVersion"] = version
    wanted = {"metadata": {"name": "written", "namespace": "default"}, "spec": edited}
    await stage.admin.apply(COLONIES, wanted, manager="kubectl")

    def settled(colony: Object | None) -> bool:
        shown = (colony or {})["status"]
        assert {c["type"]: c["status"] for c in shown["conditions"]}["Ready"] == "True", shown
        return {each["kubernetesVersion"] for each in shown["clusters"]} == {version}

    await stage.until(f"of version {version}", settled, "written")


def _whole(colony: Object | None) -> bool:
    shown = {c["type"]: c["status"] for c in (colony or {}).get("status", {}).get("conditions", ())}
    return shown.get("Ready") == shown.get("AddonsApplied") == "True"
