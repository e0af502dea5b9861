"""The bare references run as a program: watch and patch, or watch, publish, consume and patch, without a thought."""

import asyncio
import json
import os
import random
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing

import msgspec
import uvloop

from events.bus import Bus, Consumer, Delivery, Message
from events.jetstream.bus import connect
from events.kube.auth import transport
from events.kube.client import Changed, Kube, Listed, Object, Sight
from schemas.registry import Stream
from tests.bench.kube.rivals import BARE, PUBLISHED

AT_ONCE = 32
"""Objects worked on at the same time: as many as are written."""
SUBJECT = "observed.bench"


class Loop:
    """Answers every new generation of one kind with a ready-made status."""

    def __init__(self, kube: Kube, bus: Bus | None, status: Object) -> None:
        """With `bus`, every object takes the way through JetStream."""
        self._kube = kube
        self._bus = bus
        self._status = status
        self._rival = PUBLISHED if bus else BARE
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def run(self) -> None:
        """For ever."""
        async with asyncio.TaskGroup() as group:
            if self._bus:
                group.create_task(self._consume(self._bus, group))
            async for item in self._news():
                group.create_task(self._say(self._bus, item) if self._bus else self._patch(item))

    async def _news(self) -> AsyncIterator[Object]:
        async with aclosing(self._kube.watch(self._rival.resource)) as sights:
            async for sight in sights:
                for item in _shown(sight):
                    if item.get("status", {}).get("observedGeneration") != item["metadata"]["generation"]:
                        yield item

    async def _say(self, bus: Bus, item: Object) -> None:
        meta = item["metadata"]
        await bus.publish(Message(f"{SUBJECT}.{meta['namespace']}.{meta['name']}", msgspec.json.encode(item)))

    async def _consume(self, bus: Bus, group: asyncio.TaskGroup) -> None:
        consumer = Consumer("bench", Stream.LEVELS, (f"{SUBJECT}.*.*",))
        async with aclosing(bus.consume(consumer)) as deliveries:
            async for delivery in deliveries:
                group.create_task(self._answer(delivery))

    async def _answer(self, delivery: Delivery) -> None:
        await self._patch(msgspec.json.decode(delivery.stored.data))
        await delivery.ack()

    async def _patch(self, item: Object) -> None:
        meta = item["metadata"]
        status = self._status | {"observedGeneration": meta["generation"]}
        wanted = {"metadata": {"name": meta["name"], "namespace": meta["namespace"]}, "status": status}
        async with self._slots:
            await self._kube.apply(self._rival.resource, wanted, manager="bench", subresource="status")


def _shown(sight: Sight) -> tuple[Object, ...]:
    match sight:
        case Listed(items):
            return items
        case Changed(item, gone=False):
            return (item,)
        case _:
            return ()


async def main(group: str) -> None:
    kube = Kube(await transport(os.environ["ALATE_KUBECONFIG"]), random=random.random)
    bus = await connect(os.environ["ALATE_NATS_URL"], name=group) if group == PUBLISHED.resource.group else None
    await Loop(kube, bus, json.loads(os.environ["BENCH_STATUS"])).run()


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1]))
