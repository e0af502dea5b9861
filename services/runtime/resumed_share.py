"""Resumes the entities of this replica's share: at the start, and when another replica has left."""

import asyncio
from collections.abc import Callable

import structlog

from services.runtime.consumer import Resume
from services.runtime.context import Context
from services.runtime.entity_store import EntityStore
from services.runtime.level_publisher import retry_forever
from services.runtime.machine import Todo
from services.runtime.share import ShareChange

log = structlog.get_logger()


class ResumedShare:
    """Queues what the states of the share's entities ask for; those of other replicas are theirs to resume."""

    def __init__(self, store: EntityStore, todo: Todo, context: Context, add: Callable[[Resume], None]) -> None:
        """`add` queues an entity."""
        self._store = store
        self._todo = todo
        self._share = context.share
        self._jitter = context.jitter
        self._add = add
        self._left = asyncio.Event()
        """Set when another replica has left: what it had begun is known to nobody else."""

    def begin(self) -> None:
        """Queue the share as it is now, of states that were just read."""
        self._share.listen(self._on_change)
        self._queue(reload=False)

    async def run(self) -> None:
        """Queue the share again each time another replica has left, for ever."""
        while True:
            await self._left.wait()
            self._left.clear()
            await retry_forever(self._jitter, self._store.boot)
            log.info("service.took_over", entities=len(self._store))
            self._queue(reload=True)

    def _on_change(self, change: ShareChange) -> None:
        if change.someone_left:
            self._left.set()

    def _queue(self, *, reload: bool) -> None:
        for key, record in self._store:
            if record.state is not None and self._todo(record.state) and self._share.mine(key.path):
                self._add(Resume(key, reload=reload))
