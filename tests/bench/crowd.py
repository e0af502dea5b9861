"""``python -m tests.bench.crowd URL CLUSTERS`` founds so many clusters in one process, and says what that took."""

import asyncio
import os
import random
import sys
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import msgspec
import uvloop

from events.bus import Bus, Message
from events.jetstream.bus import connect
from events.meters import Meters
from schemas.infra import InfraSeen
from schemas.inventory import ClusterSeen, Offer, Offers
from schemas.placement import Attempt
from schemas.registry import declared
from schemas.wish import Need, Pool, Wish
from services.process import logs
from services.provisioning.service import service
from services.runtime.context import Context
from services.runtime.loop import Runtime

TENANT = "acme"
REGIONS = 30
NEED = Need(pools=(Pool(name="gpu", accelerator="H100", accelerators_per_node=8, nodes=2),), backend="instant")
AT_ONCE = 256
"""How many are asked for at the same time; that is not measured."""


async def say(bus: Bus, message: msgspec.Struct, *names: str) -> None:
    await bus.publish(Message(declared(type(message)).at(*names), msgspec.json.encode(message)))


class Instant:
    """A back end whose clusters are up as soon as they are asked for, and seen so at once, from above and within."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def reach(self, _: Wish) -> dict[str, bool]:
        return {"aws": True}

    async def launch(self, wish: Wish, attempt: Attempt, uid: str) -> None:
        nodes = wish.need.nodes
        about: dict[str, Any] = {"cluster": wish.name, "uid": uid, "attempt": attempt.number}
        await say(self._bus, InfraSeen(**about, reachable=True), TENANT, "instant", attempt.object_name(wish.name))
        await say(self._bus, ClusterSeen(**about, nodes=nodes, accelerators=8 * nodes), TENANT, wish.name)


class Counted(Meters):
    """Counts transitions, and knows when so many clusters are ready."""

    def __init__(self, clusters: int) -> None:
        super().__init__()
        self._left = clusters
        self.transitions = 0
        self.over = asyncio.Event()

    def transition(self, domain: str, was: str, state: str, seconds: float = 0.0) -> None:
        super().transition(domain, was, state, seconds)
        self.transitions += 1
        self._left -= state == "ready"
        if not self._left:
            self.over.set()


async def ask(bus: Bus, clusters: int) -> None:
    """A market, and everybody's wish."""
    for number in range(REGIONS):
        region = f"region-{number}"
        offer = Offer(cloud="aws", region=region, instance="x8", accelerator="H100", accelerators=8, price=1.0 + number)
        await say(bus, Offers(cloud="aws", region=region, offers=(offer,)), "aws", region)
    left = iter(range(clusters))

    async def one_after_the_other() -> None:
        for number in left:
            wish = Wish(tenant=TENANT, colony=f"c{number}", cluster="gpu", uid=f"u{number}", generation=1, need=NEED)
            await say(bus, wish, TENANT, wish.name)

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(one_after_the_other())


async def found(bus: Bus, meters: Counted) -> float:
    """From the service's readiness until the last cluster's: seconds."""
    clock = lambda: datetime.now(UTC)  # noqa: E731 - one line says it
    context = Context(bus, clock, random.random, meters)
    provisioning, views = service(context, {"instant": Instant(bus)})
    runtime = Runtime(provisioning, context)
    async with asyncio.TaskGroup() as group:
        tasks = []
        for view in views:
            tasks.append(group.create_task(view.run()))
            await view.ready.wait()
        tasks.append(group.create_task(runtime.run()))
        await runtime.ready.wait()
        began = perf_counter()
        await meters.over.wait()
        took = perf_counter() - began
        for task in tasks:
            task.cancel()
    return took


async def main(url: str, clusters: int) -> None:
    bus, meters = await connect(url, name="bench"), Counted(clusters)
    await ask(bus, clusters)
    sys.stdout.write("\n")  # from here on it counts
    sys.stdout.flush()
    began = process_time()
    seconds = await found(bus, meters)
    worked = process_time() - began
    sys.stdout.write(msgspec.json.encode((seconds, meters.transitions, worked)).decode() + "\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.readline)  # its memory is looked at now
    await bus.close()


if __name__ == "__main__":
    logs.set_up("bench", form="json", level="info", stream=Path(os.devnull).open("w"))  # noqa: SIM115 - as long as we live
    uvloop.run(main(sys.argv[1], int(sys.argv[2])))
