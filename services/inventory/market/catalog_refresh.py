"""Reads price catalogs again and again, and keeps the last good one."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

import structlog

from events.meters import CATALOG_FAILURES, CATALOG_REFUSED, Meters
from schemas.inventory import Offers
from schemas.market import CatalogSeen
from services.clients.catalog_sources import CatalogSource
from services.inventory.market.catalog_checks import Judgement, gone, judge
from services.market.catalog import regions
from services.market.catalog_parser import CatalogReading
from services.runtime.level_publisher import LevelPublisher

log = structlog.get_logger()

LOOK = 2.0
"""Seconds between two looks whether a file has changed; a look reads nothing but its date."""
AS_OF = "alate.catalog.as_of"
"""How old the prices are that are served: seconds since 1970, by cloud and freshness."""


class CatalogRefresh:
    """Says the offers of every catalog, and how the catalogs are."""

    def __init__(  # noqa: PLR0913 - its ports and its settings
        self,
        levels: LevelPublisher,
        sources: Sequence[CatalogSource],
        *,
        every: timedelta,
        clock: Callable[[], datetime],
        meters: Meters,
        control_planes: Mapping[str, float],
    ) -> None:
        """`levels` must hold Offers and CatalogSeen, and be booted before `run`."""
        self.ready = asyncio.Event()
        self._levels = levels
        self._sources = sources
        self._every = every
        self._clock = clock
        self._meters = meters
        self._control_planes = control_planes

    async def run(self) -> None:
        """Read all now, when a file has changed, and when it is time; for ever."""
        while True:
            marks = await self._marks()
            await self.refresh()
            self.ready.set()
            await self._until_due(marks)

    async def _until_due(self, marks: list[object]) -> None:
        until = self._clock() + self._every
        while self._clock() < until and marks == await self._marks():  # noqa: ASYNC110 - a file has no event to wait for
            await asyncio.sleep(LOOK)

    async def refresh(self) -> None:
        """Read every source once, and say what differs from what was said last."""
        read = await asyncio.gather(*(source.read() for source in self._sources))
        found: dict[str, list[CatalogReading]] = {}
        for each in (each for several in read for each in several):
            found.setdefault(each.cloud, []).append(each)
        unread = found.pop("", [])  # a folder: whose catalogs it holds is not known, so nothing is gone
        for each in unread:
            log.warning("catalog.folder.unread", source=each.source)
            self._meters.count(CATALOG_FAILURES, "folder")
        for cloud, several in found.items():
            await self._take(cloud, several)
        for (cloud, *_), last in () if unread else self._levels.named(CatalogSeen):
            if cloud not in found and last.freshness != "gone":
                await self._say(last, gone(last, self._clock()))

    async def _take(self, cloud: str, found: Sequence[CatalogReading]) -> None:
        """What breaks over one cloud's catalog keeps no other from being served."""
        try:
            last = self._levels.last(CatalogSeen, cloud) or CatalogSeen(cloud=cloud)
            await self._say(last, judge(last, found, self._clock()))
        except Exception:  # logged and counted; read anew at the next look
            log.exception("catalog.failed", cloud=cloud)
            self._meters.count(CATALOG_FAILURES, cloud)

    async def _marks(self) -> list[object]:
        return [await asyncio.to_thread(source.mark) for source in self._sources]

    async def _say(self, last: CatalogSeen, judged: Judgement) -> None:
        seen, catalog = judged
        if catalog is None:
            self._meters.count(CATALOG_FAILURES, seen.cloud)
        else:
            offered = regions(catalog.offers, seen.observed_at, self._control_planes)
            await self._offer(seen.cloud, {each.region: each for each in offered})
        labels = (("cloud", seen.cloud), ("freshness", seen.freshness))
        as_of = seen.observed_at.timestamp() if seen.observed_at else 0.0
        self._meters.gauge(AS_OF, seen.cloud, {labels: as_of} if seen.offers else {})
        if await self._levels.publish(seen, seen.cloud) and seen.digest != last.digest:
            for _ in range(seen.refused):
                self._meters.count(CATALOG_REFUSED, seen.cloud)
        if seen != last:
            for trouble in seen.degraded:
                log.warning("catalog.degraded", cloud=seen.cloud, reason=trouble.reason, message=trouble.message)

    async def _offer(self, cloud: str, now: dict[str, Offers]) -> None:
        """Say every region's offers; those of regions that are in the catalog no more are none."""
        for region, offers in now.items():
            await self._levels.publish(offers, cloud, region)
        for _, said in self._levels.named(Offers):
            if said.cloud == cloud and said.offers and said.region not in now:
                await self._levels.publish(Offers(cloud=cloud, region=said.region, offers=()), cloud, said.region)
