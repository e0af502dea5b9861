"""Publishes levels that differ from the last ones, with the next revision."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import TypeVar

from schemas.inventory import ClusterSeen, Level, NodeSeen, StorageSeen
from schemas.subjects import Key
from services.runtime.level_publisher import LevelPublisher

L = TypeVar("L", bound=Level)
AT_ONCE = 64
"""How many levels are on their way to the bus at a time."""
PARTS = (NodeSeen, StorageSeen)
"""What a cluster has many of, by name."""


class ClusterPublisher:
    """Says the levels of one cluster, and knows what was said of it, by whichever process."""

    def __init__(self, levels: LevelPublisher, key: Key, clock: Callable[[], datetime]) -> None:
        self._levels = levels
        self._names = (key.tenant, key.name)
        self._source = f"kubernetes/{key.tenant}/{key.name}"
        self._clock = clock
        self._last: dict[tuple[type[Level], str], Level] = {
            (kind, names[-1]): level for kind in PARTS for names, level in levels.named(kind, *self._names)
        }
        whole = levels.last(ClusterSeen, *self._names)
        if whole is not None:
            self._last[ClusterSeen, ""] = whole

    def last(self, kind: type[L], name: str = "") -> L | None:
        """What was said last."""
        found = self._last.get((kind, name))
        return found if isinstance(found, kind) else None

    def said(self, kind: type[L]) -> Iterator[tuple[str, L]]:
        """All that was said of one kind and is not gone, by name."""
        for (_, name), level in tuple(self._last.items()):
            if isinstance(level, kind) and level.freshness != "gone":
                yield name, level

    async def say(self, level: Level, name: str = "") -> bool:
        """Say one level if it differs, times and revision aside."""
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
        self._last[type(level), name] = level
        return True

    async def say_all(self, levels: Iterable[tuple[str, Level]]) -> None:
        """Say many, some at a time."""
        waiting = iter(levels)
        while some := tuple(islice(waiting, AT_ONCE)):
            if len(some) == 1:  # the usual change: no task to make
                await self.say(some[0][1], some[0][0])
                continue
            await asyncio.gather(*(self.say(level, name) for name, level in some))
