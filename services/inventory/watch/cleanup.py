"""Deletes levels of clusters that have ended."""

import asyncio

import structlog

from schemas.inventory import ClusterSeen, NodeSeen, StorageSeen
from schemas.registry import Stream
from schemas.subjects import Key, names_of
from services.inventory.watch.watcher import NOBODY
from services.runtime.context import Context
from services.runtime.level_publisher import LevelPublisher, retry_forever
from services.runtime.share import share_key

KINDS = (NodeSeen, StorageSeen, ClusterSeen)
"""The kinds of level that are published of a cluster."""
RELEASED = "cluster.released."

log = structlog.get_logger()


async def forget(levels: LevelPublisher, tenant: str, name: str) -> None:
    """Delete all levels of a cluster."""
    for kind in KINDS:
        await levels.forget(kind, tenant, name)


class LevelCleanup:
    """Deletes levels of ended clusters each time all clusters were listed: at the start and after a reconnect, too."""

    def __init__(self, context: Context, levels: LevelPublisher, listed: asyncio.Event) -> None:
        """`listed` is set with each complete listing."""
        self._bus = context.bus
        self._share = context.share
        self._levels = levels
        self._listed = listed
        self._jitter = context.jitter

    async def run(self) -> None:
        """Clean up after each listing, for ever."""
        while True:
            await self._listed.wait()
            self._listed.clear()
            await retry_forever(self._jitter, self._clean_up)

    async def _clean_up(self) -> None:
        await self._levels.refresh()
        subjects = (stored.subject for kind in KINDS for stored in self._levels.kept(kind))
        for tenant, name in sorted({names_of(subject)[2:4] for subject in subjects}):
            mine = tenant != NOBODY and self._share.mine(share_key(tenant, name))
            if mine and await self._has_ended(tenant, name):
                log.info("inventory.cleaned_up", tenant=tenant, name=name)
                await forget(self._levels, tenant, name)

    async def _has_ended(self, tenant: str, name: str) -> bool:
        """Whether a cluster has ended, by the stream itself: levels are published only after its first state."""
        last = await self._bus.last(Stream.EVENTS, Key("cluster", tenant, name).history)
        return last is None or last.subject.startswith(RELEASED)
