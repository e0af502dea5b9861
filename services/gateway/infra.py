"""What the back ends' objects show is read off the watch, and said as levels."""

import msgspec

from events.kube import Changed, Kube, Listed, Lost, Object
from schemas.cluster import InfraSeen
from services.clouds.port import Cloud
from services.levels import Levels


class InfraWatch:
    """Watches one back end's objects in all namespaces."""

    def __init__(self, cloud: Cloud, levels: Levels) -> None:
        self._cloud = cloud
        self._levels = levels

    async def run(self, kube: Kube) -> None:
        """Follow, for ever."""
        async for sight in kube.watch(self._cloud.watched):
            match sight:
                case Listed(items):
                    await self._listed(items)
                case Changed(item, gone):
                    await self._say(item, gone=gone)
                case Lost():
                    pass  # what was said stays said: not seeing something is not its absence

    async def _listed(self, items: tuple[Object, ...]) -> None:
        """A complete list: what was there, and is not in it, is gone."""
        for item in items:
            await self._say(item, gone=False)
        there = {(item["metadata"]["namespace"], item["metadata"]["name"]) for item in items}
        for (tenant, name), seen in self._levels.named(InfraSeen):
            if seen.backend == self._cloud.name and seen.present and (tenant, name) not in there:
                await self._levels.say(_gone(seen), tenant, name)

    async def _say(self, item: Object, *, gone: bool) -> None:
        seen = self._cloud.read(item)
        if seen is None:
            return
        meta = item["metadata"]
        seen = msgspec.structs.replace(seen, backend=self._cloud.name)
        await self._levels.say(_gone(seen) if gone else seen, meta["namespace"], meta["name"])


def _gone(seen: InfraSeen) -> InfraSeen:
    return msgspec.structs.replace(seen, present=False, reachable=False, failure="", message="")
