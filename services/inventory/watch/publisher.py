"""Publishes levels that differ from the last ones, with the next revision."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import TypeVar

from schemas.inventory import ClusterSeen, Level, NodeSeen, StorageSeen
from schemas.subjects import Key
from services.runtime.level_publisher import LevelPublisher
from services.runtime.read_model import Newest

L = TypeVar("L", bound=Level)
AT_ONCE = 64
"""How many levels are published at the same time."""
PARTS = (NodeSeen, StorageSeen)
"""The kinds of level of which a cluster has many, by name."""


class ClusterPublisher:
    """Publishes the levels of one cluster, and knows the last ones, whichever process published them."""

    def __init__(self, levels: LevelPublisher, key: Key, clock: Callable[[], datetime]) -> None:
        self._levels = levels
        self._names = (key.tenant, key.name)
        self._source = f"kubernetes/{key.tenant}/{key.name}"
        self._clock = clock
        self._last: Newest[tuple[type[Level], str], Level] = Newest()
        for kind in PARTS:
            for names, level in levels.named(kind, *self._names):
                self._keep(names[-1], level)
        whole = levels.last(ClusterSeen, *self._names)
        if whole is not None:
            self._keep("", whole)

    def _keep(self, name: str, level: Level) -> None:
        self._last.put((type(level), name), level.revision, level)

    def last(self, kind: type[L], name: str = "") -> L | None:
        """The last level."""
        found = self._last.get((kind, name))
        return found if isinstance(found, kind) else None

    def said(self, kind: type[L]) -> Iterator[tuple[str, L]]:
        """The last levels of one kind that are not gone, by name."""
        for (_, name), level in self._last:
            if isinstance(level, kind) and level.freshness != "gone":
                yield name, level

    async def say(self, level: Level, name: str = "") -> bool:
        """Publish one level if it differs, times and revision aside."""
        last = self._last.get((type(level), name))
        level = level.but(source=self._source)
        if last is not None:
            since = last.fresh_since if last.freshness == level.freshness else None
            level = level.but(observed_at=last.observed_at, revision=last.revision, fresh_since=since)
            if level == last:
                return False
        now = self._clock()
        level = level.but(observed_at=now, revision=level.revision + 1, fresh_since=level.fresh_since or now)
        await self._levels.publish(level, *self._names, *((name,) if name else ()))
        self._keep(name, level)
        return True

    async def say_all(self, levels: Iterable[tuple[str, Level]]) -> None:
        """Publish many, some at a time."""
        waiting = iter(levels)
        while some := tuple(islice(waiting, AT_ONCE)):
            if len(some) == 1:  # the usual change: no task to make
                await self.say(some[0][1], some[0][0])
                continue
            await asyncio.gather(*(self.say(level, name) for name, level in some))
