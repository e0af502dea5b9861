"""One founded cluster is watched here, from the moment its API answers until it is let go."""

import asyncio
from collections.abc import Callable
from datetime import datetime

import msgspec
import structlog

from events.faults import Fault
from events.kinds import NODES, PODS
from events.kube import Changed, Kube, Listed, Lost, Object, Resource
from schemas.cluster import Founded
from schemas.inventory import ClusterSeen, NodeSeen
from schemas.subjects import Key
from services.inventory.count import cluster_seen, node_seen
from services.levels import Levels
from services.workloads import Workloads

OPEN_AGAIN = 1.0
"""Seconds between two tries to open a cluster whose kubeconfig is not there yet."""

log = structlog.get_logger()


class Watcher:
    """Says what one incarnation of a cluster has and uses, each time it differs."""

    def __init__(self, key: Key, state: Founded, levels: Levels, clock: Callable[[], datetime]) -> None:
        self._key = key
        self._blank = ClusterSeen(cluster=key.name, uid=state.uid, attempt=state.attempt.number)
        self._levels = levels
        self._clock = clock
        self._seen: dict[Resource, dict[str, Object]] = {}
        self._deaf = False
        self._said: ClusterSeen | None = None
        self._nodes: dict[str, NodeSeen] = {}
        self._news = asyncio.Event()

    async def run(self, workloads: Workloads, secret: str) -> None:
        """Watch until cancelled."""
        self._said = self._levels.last(ClusterSeen, self._key.tenant, self._key.name)
        kube = await self._opened(workloads, secret)
        async with asyncio.TaskGroup() as group:
            for resource in (NODES, PODS):
                group.create_task(self._follow(kube, resource))
            group.create_task(self._tell())

    async def _opened(self, workloads: Workloads, secret: str) -> Kube:
        while True:
            try:
                return await workloads.open(self._key.tenant, secret)
            except Fault as not_yet:
                log.info("cluster.unopened", entity=self._key.path, reason=not_yet.message)
                await asyncio.sleep(OPEN_AGAIN)

    async def _follow(self, kube: Kube, resource: Resource) -> None:
        async for sight in kube.watch(resource):
            match sight:
                case Listed(items):
                    self._seen[resource] = {item["metadata"]["uid"]: item for item in items}
                    self._deaf = False
                case Changed(item, gone):
                    self._take(resource, item, gone=gone)
                case Lost(reason):
                    log.warning("cluster.unheard", entity=self._key.path, reason=reason)
                    self._deaf = True
            self._news.set()

    def _take(self, resource: Resource, item: Object, *, gone: bool) -> None:
        held, uid = self._seen[resource], item["metadata"]["uid"]
        if gone:
            held.pop(uid, None)
        else:
            held[uid] = item

    async def _tell(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            if len(self._seen) == 2:  # only after a complete list of both is anything known
                await self._say()

    async def _say(self) -> None:
        nodes = {n["metadata"]["name"]: node_seen(self._blank.uid, n) for n in self._seen[NODES].values()}
        gone = {
            name: msgspec.structs.replace(self._nodes[name], present=False, ready=False)
            for name in self._nodes.keys() - nodes
        }
        self._nodes = nodes
        for name, node in (nodes | gone).items():
            await self._levels.say(node, self._key.tenant, self._key.name, name)
        pods = self._seen[PODS].values()
        whole = cluster_seen(self._blank, nodes.values(), pods, self._said, self._clock())
        whole = msgspec.structs.replace(whole, known=not self._deaf)
        if await self._levels.say(whole, self._key.tenant, self._key.name):
            self._said = whole
