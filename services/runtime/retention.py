"""Histories of entities that ended long ago are purged, so that the stream holds what is still of use."""

import asyncio
from datetime import timedelta

import structlog

from events.bus import Unavailable
from schemas.lifecycle import Lifecycle
from schemas.subjects import Key
from services.runtime.entity_store import Clock, EntityStore

log = structlog.get_logger()

SWEEP = 3600.0
"""Seconds between two looks for histories that nobody needs any more."""


class Retention:
    """Forgets the entities of one store that have been at their end for some time."""

    def __init__(self, store: EntityStore, lifecycle: Lifecycle, clock: Clock, lasts: timedelta) -> None:
        self._store = store
        self._ends = lifecycle.terminal
        self._clock = clock
        self._lasts = lasts

    async def run(self) -> None:
        """Look again and again, for ever."""
        while True:
            for key, _ in self._store:
                if self._is_old(key):
                    await self._forget(key)
            await asyncio.sleep(SWEEP)

    async def _forget(self, key: Key) -> None:
        """Purge one history, unless another replica has carried it on."""
        try:
            await self._store.reload(key)
            if self._is_old(key):
                await self._store.forget(key)
        except Unavailable as away:
            log.warning("bus.unavailable", entity=key.path, reason=str(away))

    def _is_old(self, key: Key) -> bool:
        state = self._store.entry(key).state
        if state is None or not isinstance(state, self._ends) or state.needed:
            return False
        return self._clock() - state.since > self._lasts
