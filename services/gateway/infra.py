"""What the back ends' objects show is read off the watch, and said as levels."""

from collections.abc import Callable
from contextlib import aclosing

import msgspec

from events.faults import Fault
from events.kube import Changed, Kube, Listed, Lost, Object, Resource
from schemas.cluster import InfraSeen
from services.clouds.objects import newest
from services.clouds.port import Cloud
from services.levels import Levels
from services.steadfast import insist


class InfraWatch:
    """Watches one back end's objects in all namespaces."""

    def __init__(self, cloud: Cloud, levels: Levels, jitter: Callable[[], float]) -> None:
        """`jitter` gives 0 to 1."""
        self._cloud = cloud
        self._levels = levels
        self._jitter = jitter

    async def run(self, kube: Kube) -> None:
        """Follow, for ever, in whichever version is served."""
        watched = self._cloud.watched
        while True:
            watched = await self._follow(kube, watched)

    async def _follow(self, kube: Kube, watched: Resource) -> Resource:
        """Follow as long as this version is served; gives the one that is."""
        async with aclosing(kube.watch(watched)) as sights:
            async for sight in sights:
                match sight:
                    case Listed(items):
                        await self._listed(items)
                    case Changed(item, gone):
                        await self._say(item, gone=gone)
                    case Lost():  # what was said stays said: not seeing something is not its absence
                        if (served := await self._served(kube, watched)) != watched:
                            return served
        return watched

    async def _served(self, kube: Kube, watched: Resource) -> Resource:
        try:
            return await newest(kube, self._cloud.watched)
        except Fault:  # nobody can say now
            return watched

    async def _listed(self, items: tuple[Object, ...]) -> None:
        """A complete list: what was there, and is not in it, is gone."""
        for item in items:
            await self._say(item, gone=False)
        there = {(item["metadata"]["namespace"], item["metadata"]["name"]) for item in items}
        for (tenant, name), seen in self._levels.named(InfraSeen):
            if seen.backend == self._cloud.name and seen.present and (tenant, name) not in there:
                await self._tell(_gone(seen), tenant, name)

    async def _say(self, item: Object, *, gone: bool) -> None:
        seen = self._cloud.read(item)
        if seen is None:
            return
        meta = item["metadata"]
        seen = msgspec.structs.replace(seen, backend=self._cloud.name)
        await self._tell(_gone(seen) if gone else seen, meta["namespace"], meta["name"])

    async def _tell(self, seen: InfraSeen, tenant: str, name: str) -> None:
        """However long the bus is away: what is seen next is said after it."""
        await insist(self._jitter, lambda: self._levels.say(seen, tenant, name))


def _gone(seen: InfraSeen) -> InfraSeen:
    return InfraSeen(cluster=seen.cluster, uid=seen.uid, attempt=seen.attempt, backend=seen.backend, present=False)
