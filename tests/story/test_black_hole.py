"""A cluster whose API takes connections and never answers is that cluster's trouble alone.

The twenty clusters are the sandbox's, each with an API of its own behind HTTPS: twenty real API servers would keep two
cores so busy with themselves that nothing could be said of us. The services are processes of their own, as `alate up`
runs them. Calm and storm take turns on the same processes, so that whatever else the machine does falls on both.
"""

import asyncio
import base64
import random
import statistics
import time
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
import structlog
import yaml
from yarl import URL

from events.jetstream.bus import connect
from events.jetstream.credentials import NkeyCredentials
from events.kube.auth import TRUSTED, transport, transport_of
from events.kube.client import Kube
from events.kube.resources import COLONIES, NODES, SECRETS
from schemas.inventory import NodeSeen
from services.cli.demo.play import Play
from services.cli.demo.story import Story

pytestmark = [pytest.mark.stack, pytest.mark.faults, pytest.mark.timeout(600)]
CALM, TURNS, TURN = 19, 5, 12.0
"""Clusters that answer; how often calm and storm take turns; seconds of each."""
SLOWER = 1.5


class Gate:
    """Stands before a server; while it is shut, it accepts, reads, and never says a word."""

    def __init__(self, port):
        self._beyond, self._open, self._held = port, True, set()
        self.swallowed = 0

    async def serve(self):
        self._server = await asyncio.start_server(self._take, "127.0.0.1", 0)
        return self._server.sockets[0].getsockname()[1]

    def turn(self, *, open_):
        """From now on; whoever is connected is cut off."""
        self._open = open_
        for task in tuple(self._held):
            task.cancel()

    async def close(self):
        self._server.close()
        self.turn(open_=False)
        await asyncio.gather(*self._held, return_exceptions=True)

    async def _take(self, reader, writer):
        task = asyncio.current_task()
        self._held.add(task)
        try:
            with suppress(asyncio.CancelledError, OSError):
                await (self._pass(reader, writer) if self._open else self._swallow(reader))
        finally:
            self._held.discard(task)
            writer.close()

    async def _swallow(self, reader):
        self.swallowed += 1
        while await reader.read(65536):
            pass

    async def _pass(self, reader, writer):
        back, forth = await asyncio.open_connection("127.0.0.1", self._beyond)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_pump(reader, forth))
                group.create_task(_pump(back, writer))
        finally:
            forth.close()


async def _pump(reader, writer):
    while some := await reader.read(65536):
        writer.write(some)
        await writer.drain()
    raise ConnectionResetError


def colony(name, clusters):
    pools = [{"name": "gpu", "accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 1}]
    specs = [{"name": f"c{number}", "pools": pools} for number in range(clusters)]
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"clusters": specs}}


@asynccontextmanager
async def inside(stack):
    """Ways into a running stack: its management cluster, and all that is said on its bus."""
    bus, kube = (
        await connect(stack.nats, name="operator", streams=(), credentials=NkeyCredentials(nkey=stack.key("operator"))),
        Kube(await transport(str(stack.kubeconfig)), random=random.random),
    )
    play = Play(bus, kube, Story())
    following = asyncio.ensure_future(play.follow())
    try:
        yield kube, play.story
    finally:
        following.cancel()
        await asyncio.wait((following,))
        await kube.close()
        await bus.close()


async def founded(kube, *names):
    """Wait until all clusters of the Colonies are ready; gives the names of their kubeconfigs' Secrets."""
    async with asyncio.timeout(120):
        while True:
            shown = [(await kube.get(COLONIES, name, "default")).get("status", {}) for name in names]
            if all(each.get("phase") == "Ready" for each in shown):
                return [[one["kubeconfigSecret"] for one in each["clusters"]] for each in shown]
            await asyncio.sleep(0.5)


async def kubeconfig(kube, secret):
    return yaml.safe_load(base64.b64decode((await kube.get(SECRETS, secret, "default"))["data"]["value"]))


async def rerouted(kube, secret, gate):
    """The cluster is reached through the gate from now on, by whoever reads its kubeconfig."""
    config = await kubeconfig(kube, secret)
    cluster = config["clusters"][0]["cluster"]
    cluster["server"] = str(URL(cluster["server"]).with_port(gate))
    value = base64.b64encode(yaml.safe_dump(config).encode()).decode()
    await kube.patch(SECRETS, secret, "default", {"data": {"value": value}})


class Nodes:
    """One node in each cluster that answers, cordoned in turn until the inventory has said so."""

    def __init__(self, story):
        self._told: asyncio.Queue[Any] = asyncio.Queue()
        self._nodes = []
        story.listeners.append(self._hear)

    def _hear(self, heard):
        if isinstance(heard.content, NodeSeen):
            self._told.put_nowait((heard.names[-2], heard.content.schedulable))

    async def open(self, kube, secrets):
        for secret in secrets:
            inside = Kube(
                await transport_of(yaml.safe_dump(await kubeconfig(kube, secret)), allowed=TRUSTED),
                random=random.random,
            )
            name = (await inside.list(NODES)).items[0]["metadata"]["name"]
            self._nodes.append((secret.rpartition("-")[0].rpartition("-")[0], inside, name))

    async def close(self):
        for _, inside, _ in self._nodes:
            await inside.close()

    async def reactions(self, seconds):
        """Seconds that each took, as many as there is time for, ending as it began."""
        took, until = [], time.monotonic() + seconds
        while time.monotonic() < until:
            for schedulable in (False, True):
                took += [await self._reaction(*node, schedulable=schedulable) for node in self._nodes]
        return took

    async def _reaction(self, cluster, inside, node, *, schedulable):
        began = time.monotonic()
        await inside.patch(NODES, node, None, {"spec": {"unschedulable": not schedulable}})
        async with asyncio.timeout(60):
            while await self._told.get() != (cluster, schedulable):
                pass
        return time.monotonic() - began


@asynccontextmanager
async def started(up):
    """A stack, while this loop goes on."""
    running = up()
    stack = await asyncio.to_thread(running.__enter__)
    try:
        yield stack
    finally:
        await asyncio.to_thread(running.__exit__, None, None, None)


@asynccontextmanager
async def gated(up):
    """Founds the twenty, puts the gate before the last one; gives the gate and the others' Secrets."""
    async with started(up) as stack, inside(stack) as (kube, _):
        for name, clusters in (("calm", CALM), ("deaf", 1)):
            await kube.apply(COLONIES, colony(name, clusters), manager="somebody")
        calm, (deaf,) = await founded(kube, "calm", "deaf")
        server = (await kubeconfig(kube, deaf))["clusters"][0]["cluster"]["server"]
        gate = Gate(URL(server).port)
        await rerouted(kube, deaf, await gate.serve())
    try:
        yield gate, calm
    finally:
        await gate.close()


async def test_a_black_hole_does_not_slow_the_other_clusters(up):
    took = {"calm": [], "storm": []}
    async with gated(up) as (gate, secrets), started(up) as stack, inside(stack) as (kube, story):
        nodes = Nodes(story)
        await nodes.open(kube, secrets)
        await nodes.reactions(TURN)  # everything is warm
        for _ in range(TURNS):
            for weather, seconds in took.items():
                gate.turn(open_=weather == "calm")
                seconds.append(await nodes.reactions(TURN))
        await nodes.close()
    figures = {weather: [_figures(each) for each in turns] for weather, turns in took.items()}
    structlog.get_logger().info("reactions", swallowed=gate.swallowed, **figures)
    assert gate.swallowed > TURNS
    for figure in ("p50", "p99"):
        pairs = zip(figures["calm"], figures["storm"], strict=True)
        assert statistics.median(storm[figure] / calm[figure] for calm, storm in pairs) <= SLOWER, figures


def _figures(took):
    quantiles = statistics.quantiles(took, n=100, method="inclusive")
    return {"p50": round(quantiles[49], 4), "p99": round(quantiles[98], 4), "n": len(took)}
