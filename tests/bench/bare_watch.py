"""The bare reference for a status: watch, publish, consume, apply the status; with the same clients, and no thought."""

import asyncio
from contextlib import aclosing
from typing import Any

import msgspec

from events.bus import Bus, Consumer, Message
from events.kube.client import Changed, Kube, Object, Resource
from events.kube.resources import CRDS
from schemas.crds import manifest
from schemas.registry import Stream

GROUP = "bench.alate.dev"
TWINS = Resource(GROUP, "v1alpha1", "colonies", "Colony")
"""The same shape as a Colony, so that the API server has the same work, in a group nobody else watches."""


def definition() -> Object:
    """The CRD of `TWINS`."""
    colony: dict[str, Any] = manifest()
    return colony | {"metadata": {"name": f"colonies.{GROUP}"}, "spec": colony["spec"] | {"group": GROUP}}


class BareWatch:
    """One task that watches and publishes, one that consumes and applies. The status is ready-made."""

    def __init__(self, bus: Bus, kube: Kube, status: Object) -> None:
        self._bus = bus
        self._kube = kube
        self._status = status

    async def set_up(self) -> None:
        """Make the kind known."""
        await self._kube.apply(CRDS, definition(), manager="bench")

    async def run(self) -> None:
        """Answer every new generation, for ever."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._say())
            group.create_task(self._answer())

    async def _say(self) -> None:
        async with aclosing(self._kube.watch(TWINS)) as sights:
            async for sight in sights:
                if not isinstance(sight, Changed) or sight.gone:
                    continue
                meta = sight.object["metadata"]
                if sight.object.get("status", {}).get("observedGeneration") != meta["generation"]:
                    subject = f"observed.bench.{meta['namespace']}.{meta['name']}"
                    await self._bus.publish(Message(subject, msgspec.json.encode(sight.object)))

    async def _answer(self) -> None:
        consumer = Consumer("bench", Stream.LEVELS, ("observed.bench.*.*",))
        async with aclosing(self._bus.consume(consumer)) as deliveries:
            async for delivery in deliveries:
                meta = msgspec.json.decode(delivery.stored.data)["metadata"]
                status = self._status | {"observedGeneration": meta["generation"]}
                wanted = {"metadata": {"name": meta["name"], "namespace": meta["namespace"]}, "status": status}
                await self._kube.apply(TWINS, wanted, manager="bench-bare", subresource="status")
                await delivery.ack()
