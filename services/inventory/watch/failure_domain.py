"""Isolates failures of one cluster: they show in its own level, and it is watched again by itself."""

import asyncio
from collections.abc import Callable

from schemas.inventory import ClusterSeen, NodeSeen, StorageSeen
from schemas.subjects import Key
from services.inventory.read.totals import watch_failed
from services.inventory.watch.publisher import ClusterPublisher
from services.inventory.watch.watcher import OpenCluster, Watcher
from services.runtime.workqueue import Failures

LONG = 60.0
"""Seconds after which a watch that breaks is one that had gone well."""


class FailureDomain:
    """Watches one cluster until cancelled."""

    def __init__(
        self,
        key: Key,
        blank: ClusterSeen,
        publisher: ClusterPublisher,
        watcher: Callable[[asyncio.Event], Watcher],
        failures: Failures[Key],
    ) -> None:
        """`watcher` makes one that sets the event once it has seen the cluster whole, or cannot."""
        self.settled = asyncio.Event()
        self._key = key
        self._blank = blank
        self._publisher = publisher
        self._watcher = watcher
        self._failures = failures

    async def run(self, open_: OpenCluster) -> None:
        """Whatever is raised here is of this cluster alone: told, and tried again later and later."""
        clock = asyncio.get_running_loop().time
        while True:
            began = clock()
            try:
                await self._watcher(self.settled).run(open_)
            except Exception as error:  # noqa: BLE001 - a fault of ours over one cluster must not stop the others
                if clock() - began > LONG:
                    self._failures.forget(self._key)
                wait = self._failures.record(self._key, error)
                await self._tell(error)
                self.settled.set()
                await asyncio.sleep(wait)

    async def _tell(self, error: Exception) -> None:
        """What was said last of it is stale, and why."""
        levels = [*self._publisher.said(NodeSeen), *self._publisher.said(StorageSeen)]
        whole = (self._publisher.last(ClusterSeen) or self._blank).but(known=False)
        try:
            await self._publisher.say_all([(name, one.but(freshness="stale")) for name, one in levels])
            await self._publisher.say(whole.but(freshness="stale", degraded=(watch_failed(error),)))
        except Exception as again:  # noqa: BLE001 - it is logged, and the cluster is watched anew all the same
            self._failures.record(self._key, again)
