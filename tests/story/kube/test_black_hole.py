"""A cluster whose API takes connections and never answers is that cluster's trouble alone."""

import asyncio
import statistics
import time
from contextlib import asynccontextmanager

import pytest
import structlog

from events.kinds import COLONIES, NODES
from schemas.inventory import NodeSeen
from schemas.subjects import Key
from tests.kube.plane import ControlPlane
from tests.story.kube.told import WITHIN
from tests.story.kube.world import RealWorld

pytestmark = [pytest.mark.kube, pytest.mark.faults, pytest.mark.timeout(900)]
HEALTHY, ROUNDS = 4, 16
"""Rounds are even in number: each ends what the one before it began."""
SLOWER = 1.5
NOISE = 0.1
"""Seconds by which a busy machine may differ from itself."""


class Bare(RealWorld):
    """Founded clusters of an API server alone; the ones named `deaf` are told to be where nobody answers."""

    deaf = ""
    hole = ""

    async def found(self, place):
        text = await super().found(place)
        return text.replace(self.planes[place].url, self.hole) if self.deaf in place else text

    def _start(self, place):
        return ControlPlane(self.folder / f"{place}-{len(self.ever)}").__enter__()


@asynccontextmanager
async def black_hole():
    """The URL of a server that accepts, reads, and never says a word."""

    async def swallow(reader, writer):
        while await reader.read(65536):
            pass
        writer.close()

    server = await asyncio.start_server(swallow, "127.0.0.1", 0)
    try:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


def colony(name, clusters):
    pools = [{"name": "gpu", "accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 1}]
    specs = [{"name": f"c{number}", "pools": pools} for number in range(clusters)]
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"clusters": specs}}


async def ready(stage, name, clusters, state):
    """Wait until all clusters of a Colony have come so far."""

    async def look():
        keys = [Key("cluster", "default", f"{name}-c{number}") for number in range(clusters)]
        reached = [{type(each).__name__ for each in stage.play.story.states.get(key, ())} for key in keys]
        return all(state in each for each in reached)

    await stage.services.until(look, WITHIN)


async def reactions(stage):
    """Seconds from a node's being cordoned in a healthy cluster until the inventory has said so."""
    told: asyncio.Queue[tuple[str, bool]] = asyncio.Queue()

    def hear(heard):
        if isinstance(heard.said, NodeSeen):
            told.put_nowait((heard.said.node, heard.said.schedulable))

    stage.play.story.listeners.append(hear)
    took = []
    for number in range(ROUNDS):
        for place in [each for each in stage.world.planes if "calm" in each]:
            kube = stage.world.kube(place)
            node = (await kube.list(NODES)).items[0]["metadata"]["name"]
            schedulable, began = bool(number % 2), time.monotonic()
            await kube.patch(NODES, node, None, {"spec": {"unschedulable": not schedulable}})
            async with asyncio.timeout(60):
                while await told.get() != (node, schedulable):
                    pass
            took.append(time.monotonic() - began)
    stage.play.story.listeners.remove(hear)
    return took


@pytest.mark.parametrize("world", [Bare], indirect=True)
async def test_a_black_hole_does_not_slow_the_other_clusters(stage):
    async with black_hole() as hole, stage("capi") as it:
        it.world.deaf, it.world.hole = "deaf", hole
        await it.kube.apply(COLONIES, colony("calm", HEALTHY), manager="somebody")
        await ready(it, "calm", HEALTHY, "Ready")
        calm = await reactions(it)
        await it.kube.apply(COLONIES, colony("deaf", 1), manager="somebody")
        await ready(it, "deaf", 1, "Provisioned")
        stormy = await reactions(it)
        figures = {name: _figures(took) for name, took in (("calm", calm), ("stormy", stormy))}
        structlog.get_logger().info("reactions", **figures)
        assert figures["stormy"]["p99"] <= SLOWER * figures["calm"]["p99"] + NOISE, figures
        assert figures["stormy"]["p50"] <= SLOWER * figures["calm"]["p50"] + NOISE, figures


def _figures(took):
    quantiles = statistics.quantiles(took, n=100, method="inclusive")
    return {"p50": round(quantiles[49], 4), "p99": round(quantiles[98], 4)}
