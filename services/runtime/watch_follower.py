"""Follows a watch of Kubernetes: hands on every list and every change, until it is cancelled."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Protocol

import structlog

from events.kube.port import Changed, Listed, Lost, Object, Sight

log = structlog.get_logger()


class WatchFollower(Protocol):
    """What keeps the objects that a watch shows."""

    listed: asyncio.Event
    """Set once all are known."""

    def on_list(self, items: Sequence[Object]) -> None:
        """These are all."""
        ...

    def on_change(self, item: Object, *, gone: bool) -> None:
        """One was added or changed, or is gone."""
        ...


async def follow(sights: AsyncIterator[Sight], follower: WatchFollower) -> None:
    """Follow until cancelled."""
    async for sight in sights:
        match sight:
            case Listed(items):
                follower.on_list(items)
                follower.listed.set()
            case Changed(item, gone):
                follower.on_change(item, gone=gone)
            case Lost(reason):
                log.warning("kubernetes.watch_lost", reason=reason)
