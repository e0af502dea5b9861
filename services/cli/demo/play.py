"""Plays the story: request a Colony, wait for its cluster, its work and its end, delete the Colony."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import TypeVar

import msgspec

from events.bus import Bus, Stored
from events.errors import NotFound, TryLater
from events.kube.client import Kube, Object
from events.kube.resources import COLONIES
from schemas.addon import addon_name
from schemas.cluster import Released
from schemas.subjects import Key
from schemas.teardown import Gone
from schemas.wish import cluster_name
from services.cli.demo.story import FILTERS, DemoEvent, Story, event_of
from services.errors import Failed

MANAGER = "alate-demo"
STORY = 180.0
"""Seconds until a story must be over."""
ENDS = re.compile(rb'(run-seconds: \\")\d+')
"""Within the manifests of an add-on, which are a text."""
T = TypeVar("T")


class Play:
    """Plays the story on a running stack; `story` is what was received of it."""

    def __init__(self, bus: Bus, kube: Kube, story: Story) -> None:
        self.story = story
        self.expected: set[Key] = set()
        """Every entity that was asked for."""
        self._bus = bus
        self._kube = kube
        self._news = asyncio.Event()
        story.listeners.append(self._note)

    async def follow(self) -> None:
        """Receive everything, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for stream, filters in FILTERS.items():
                group.create_task(self._follow(stream, filters))

    async def colony(self, colony: Object, within: float) -> None:
        """Request a Colony, wait until its clusters have ended, delete it. Raises Failed after `within` seconds."""
        keys = entities(colony)
        async with self._limited(keys, within):
            await self._ask(colony)
            await self._until(lambda: self._over(keys))
            await self._delete(colony)

    async def cut_off(self, colony: Object, within: float) -> float:
        """Request a Colony, delete it while its job runs; gives the seconds until nothing is left. Raises Failed."""
        keys = entities(colony)
        async with self._limited(keys, STORY):
            await self._ask(colony)
            await self._until(lambda: all(self._works(key.name) for key in keys if key.domain == "cluster"))
        began = asyncio.get_running_loop().time()
        async with self._limited(keys, within):
            await self._delete(colony)
            await self._until(lambda: self._over(keys))
        return asyncio.get_running_loop().time() - began

    async def _ask(self, colony: Object) -> None:
        self.expected |= entities(colony)
        await retry_forever(lambda: self._kube.apply(COLONIES, colony, manager=MANAGER))

    async def _delete(self, colony: Object) -> None:
        meta = colony["metadata"]
        await retry_forever(lambda: self._deleted(meta["name"], meta["namespace"]))

    @asynccontextmanager
    async def _limited(self, keys: Iterable[Key], within: float) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(within):
                yield
        except TimeoutError as late:
            raise Failed(f"the story was not over after {within:g} s: {self._where(keys)}") from late

    async def _follow(self, stream: str, filters: Iterable[str]) -> None:
        async for fed in self._bus.feed(stream, *filters):
            if isinstance(fed, Stored):
                self.story.receive(fed)

    def _note(self, _: DemoEvent) -> None:
        self._news.set()

    async def _until(self, true: Callable[[], bool]) -> None:
        while not true():
            self._news.clear()
            await self._news.wait()

    def _works(self, cluster: str) -> bool:
        seen = self.story.clusters.get(cluster)
        return seen is not None and seen.allocated > 0

    def _over(self, keys: Iterable[Key]) -> bool:
        """Every cluster is released, and every teardown has its proof."""
        ends = {"cluster": Released, "teardown": Gone}
        return all(isinstance(self.story.now(key), ends[key.domain]) for key in keys if key.domain in ends)

    async def _deleted(self, name: str, namespace: str) -> None:
        """Delete the Colony. Raises TryLater until it is not there any more."""
        try:
            await self._kube.delete(COLONIES, name, namespace)
        except NotFound:
            return
        raise TryLater(f"Colony {name} is still there", 0.2)

    def _where(self, keys: Iterable[Key]) -> str:
        states = {key: self.story.now(key) for key in sorted(keys)}
        return ", ".join(
            f"{'/'.join(key)} is {event_of(state) if state else 'absent'}" for key, state in states.items()
        )


def endless(colony: Object) -> Object:
    """The same, under another name, with a job that ends only with its cluster."""
    meta = colony["metadata"]
    spec = msgspec.json.decode(ENDS.sub(b"\\g<1>86400", msgspec.json.encode(colony["spec"])))
    return colony | {"metadata": meta | {"name": f"{meta['name']}-at-work"}, "spec": spec}


async def retry_forever(ask: Callable[[], Awaitable[T]]) -> T:
    """Repeat a request until it is answered: the server may be away for a moment."""
    while True:
        try:
            return await ask()
        except TryLater as later:
            await asyncio.sleep(min(later.after, 1.0))


def entities(colony: Object) -> set[Key]:
    """Every cluster, teardown and add-on that a Colony will have."""
    meta = colony["metadata"]
    found: set[Key] = set()
    for cluster in colony["spec"]["clusters"]:
        name = cluster_name(meta["name"], cluster["name"])
        found |= {Key("cluster", meta["namespace"], name), Key("teardown", meta["namespace"], name)}
        addons = cluster.get("addons", ())
        found |= {Key("addon", meta["namespace"], addon_name(name, addon["name"])) for addon in addons}
    return found
