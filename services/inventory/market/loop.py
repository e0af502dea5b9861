"""Runs the refresh of price catalogs and the learning of capacity with one publisher."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta

import structlog

from events.meters import CAPACITY_SIGNALS, CATALOG_FAILURES, CATALOG_REFUSED
from schemas import cluster
from schemas.cluster import Ready
from schemas.entity import State
from schemas.inventory import Offers
from schemas.market import CapacitySeen, CatalogSeen
from schemas.subjects import Key
from services.clients.catalog_sources import CatalogSource
from services.inventory.market.catalog_checks import Judgement, gone, judge
from services.market.capacity import RegionKey, forgive, learn, refusals
from services.market.catalog import NONE, regions
from services.market.catalog_parser import CatalogReading
from services.runtime.context import Context
from services.runtime.level_publisher import LevelPublisher
from services.runtime.read_model import ReadModel, entities

log = structlog.get_logger()

LOOK = 2.0
"""Seconds between two looks whether a file has changed; a look reads nothing but its date."""
AS_OF = "alate.catalog.as_of"
"""How old the prices are that are served: seconds since 1970, by cloud and freshness."""


class CatalogRefresh:
    """Says the offers of every catalog, and how the catalogs are."""

    def __init__(
        self,
        context: Context,
        levels: LevelPublisher,
        sources: Sequence[CatalogSource],
        *,
        every: timedelta,
        control_planes: Mapping[str, float],
    ) -> None:
        """`levels` must hold Offers and CatalogSeen, and be booted before `run`."""
        self.ready = asyncio.Event()
        self._levels = levels
        self._sources = sources
        self._every = every
        self._clock = context.clock
        self._meters = context.meters
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


REFUSED = "alate.capacity.refused"
"""How many refusals are remembered, by place (``cloud/region``) and reason."""


class CapacityLearner:
    """Hears of every cluster, and says where a cloud had no room."""

    def __init__(self, context: Context, levels: LevelPublisher, half_life: timedelta) -> None:
        """`levels` must hold CapacitySeen, and be booted before `run`."""
        self.ready = asyncio.Event()
        self._levels = levels
        self._half_life = half_life.total_seconds()
        self._clock = context.clock
        self._meters = context.meters
        self._clusters: ReadModel[Key, State] = entities(context.bus, cluster.LIFECYCLE, context.meters)
        self._heard: asyncio.Queue[State] = asyncio.Queue()
        self._seen: dict[RegionKey, CapacitySeen] = {}

    async def run(self) -> None:
        """Take in what is kept of every cluster, say what that means, then follow; for ever."""
        self._seen = {(seen.cloud, seen.region): seen for _, seen in self._levels.named(CapacitySeen)}
        # Before the view runs: the last failure of a cluster that has long found its place is heard only so.
        self._clusters.listen(lambda _, state: self._heard.put_nowait(state))
        async with asyncio.TaskGroup() as group:
            group.create_task(self._clusters.run())
            await self._clusters.ready.wait()
            await self._say_all()
            self.ready.set()
            while True:
                self._heard.put_nowait(await self._heard.get())  # wait for one, then take all that are there
                await self._say_all()

    async def _say_all(self) -> None:
        touched: set[RegionKey] = set()
        while not self._heard.empty():
            touched |= self._take(self._heard.get_nowait())
        for place in sorted(touched):
            await self._say(self._seen[place], self._levels.last(CapacitySeen, *place))

    async def _say(self, seen: CapacitySeen, last: CapacitySeen | None) -> None:
        before = last.refusals if last else ()
        self._gauge(seen)
        if seen.refusals != before:
            await self._levels.publish(seen, seen.cloud, seen.region)
            for _ in set(seen.refusals).difference(before):
                self._meters.count(CAPACITY_SIGNALS, seen.cloud)

    def _take(self, state: State) -> set[RegionKey]:
        """Learn from one state; gives the places it tells of."""
        touched: set[RegionKey] = set()
        for place, refusal in refusals(state):
            self._seen[place] = learn(self._at(place), (refusal,), self._clock())
            touched.add(place)
        if isinstance(state, Ready):
            place = (state.attempt.placement.cloud, state.attempt.placement.region)
            self._seen[place] = forgive(self._at(place), state)
            touched.add(place)
        return touched

    def _at(self, place: RegionKey) -> CapacitySeen:
        new = CapacitySeen(cloud=place[0], region=place[1], half_life_seconds=self._half_life)
        return self._seen.get(place, new).but(half_life_seconds=self._half_life)

    def _gauge(self, seen: CapacitySeen) -> None:
        place = f"{seen.cloud}/{seen.region}"
        counted = Counter(refusal.reason for refusal in seen.refusals)
        series = {(("place", place), ("reason", reason)): float(number) for reason, number in counted.items()}
        self._meters.gauge(REFUSED, place, series)


class MarketLoop:
    """Says what is offered, how old the prices are, and where there was no room."""

    def __init__(
        self,
        context: Context,
        sources: Sequence[CatalogSource],
        *,
        refresh: timedelta,
        half_life: timedelta,
        control_planes: Mapping[str, float] = NONE,
    ) -> None:
        """`control_planes` costs a cluster's control plane (USD/h), by cloud."""
        self.ready = asyncio.Event()
        self.levels = LevelPublisher(context, Offers, CatalogSeen, CapacitySeen, retries=True)
        """What was said last."""
        self._prices = CatalogRefresh(context, self.levels, sources, every=refresh, control_planes=control_planes)
        self._rooms = CapacityLearner(context, self.levels, half_life)

    async def run(self) -> None:
        """Follow catalogs and clusters, for ever."""
        await self.levels.refresh()
        async with asyncio.TaskGroup() as group:
            for half in (self._prices, self._rooms):
                group.create_task(half.run())
                await half.ready.wait()
            self.ready.set()
