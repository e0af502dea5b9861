"""Runs the refresh of price catalogs and the learning of capacity with one publisher."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
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
from services.runtime.cancellation import raise_if_cancelled
from services.runtime.context import Context
from services.runtime.level_publisher import LevelPublisher, Outdated
from services.runtime.read_model import ReadModel, entities
from services.runtime.replica import Standby

log = structlog.get_logger()

LOOK = 2.0
"""Seconds between two checks of whether a file has changed; a check reads only its date."""
AS_OF = "alate.catalog.as_of"
"""The time of the prices in use: seconds since 1970, by cloud and freshness."""


class CatalogRefresh:
    """Publishes the offers of every catalog, and whether each catalog is readable and fresh."""

    def __init__(
        self,
        context: Context,
        levels: LevelPublisher,
        sources: Sequence[CatalogSource],
        *,
        every: timedelta,
        control_planes: Mapping[str, float],
    ) -> None:
        """`levels` must hold Offers and CatalogSeen, and be refreshed before `run`."""
        self.ready = asyncio.Event()
        self._levels = levels
        self._sources = sources
        self._every = every
        self._clock = context.clock
        self._meters = context.meters
        self._control_planes = control_planes

    async def run(self) -> None:
        """Read all catalogs now, after each change of a file, and periodically; for ever."""
        while True:
            versions = await self._versions()
            await self.refresh()
            self.ready.set()
            await self._until_due(versions)

    async def _until_due(self, versions: list[object]) -> None:
        until = self._clock() + self._every
        while self._clock() < until and versions == await self._versions():  # noqa: ASYNC110 - a file has no event to wait for
            await asyncio.sleep(LOOK)

    async def refresh(self) -> None:
        """Read every source once, and publish what differs from the last levels."""
        read = await asyncio.gather(*(source.read() for source in self._sources))
        found: dict[str, list[CatalogReading]] = {}
        for each in (each for several in read for each in several):
            found.setdefault(each.cloud, []).append(each)
        unread = found.pop("", [])  # a folder: the clouds of its catalogs are unknown, so no catalog counts as gone
        for each in unread:
            log.warning("catalog.folder_unreadable", source=each.source)
            self._meters.count(CATALOG_FAILURES, "folder")
        for cloud, several in found.items():
            await self._update(cloud, several)
        for (cloud, *_), last in () if unread else self._levels.named(CatalogSeen):
            if cloud not in found and last.freshness != "gone":
                await self._publish(last, gone(last, self._clock()))

    async def _update(self, cloud: str, found: Sequence[CatalogReading]) -> None:
        """Publish one cloud's catalog; an error there does not stop the others."""
        try:
            last = self._levels.last(CatalogSeen, cloud) or CatalogSeen(cloud=cloud)
            await self._publish(last, judge(last, found, self._clock()))
        except Exception:  # logged and counted; read again at the next refresh
            log.exception("catalog.failed", cloud=cloud)
            self._meters.count(CATALOG_FAILURES, cloud)

    async def _versions(self) -> list[object]:
        return [await asyncio.to_thread(source.mark) for source in self._sources]

    async def _publish(self, last: CatalogSeen, judgement: Judgement) -> None:
        seen, catalog = judgement
        if catalog is None:
            self._meters.count(CATALOG_FAILURES, seen.cloud)
        else:
            offered = regions(catalog.offers, seen.observed_at, self._control_planes)
            await self._publish_offers(seen.cloud, {each.region: each for each in offered})
        labels = (("cloud", seen.cloud), ("freshness", seen.freshness))
        as_of = seen.observed_at.timestamp() if seen.observed_at else 0.0
        self._meters.gauge(AS_OF, seen.cloud, {labels: as_of} if seen.offers else {})
        if await self._levels.publish(seen, seen.cloud) and seen.digest != last.digest:
            for _ in range(seen.refused):
                self._meters.count(CATALOG_REFUSED, seen.cloud)
        if seen != last:
            for trouble in seen.degraded:
                log.warning("catalog.degraded", cloud=seen.cloud, reason=trouble.reason, message=trouble.message)

    async def _publish_offers(self, cloud: str, now: dict[str, Offers]) -> None:
        """Publish every region's offers, and an empty list for regions that the catalog no longer has."""
        for region, offers in now.items():
            await self._levels.publish(offers, cloud, region)
        for _, published in self._levels.named(Offers):
            if published.cloud == cloud and published.offers and published.region not in now:
                await self._levels.publish(
                    Offers(cloud=cloud, region=published.region, offers=()), cloud, published.region
                )


REFUSED = "alate.capacity.refused"
"""The number of remembered refusals, by place (``cloud/region``) and reason."""


class CapacityLearner:
    """Learns from the states of all clusters where a cloud had no capacity, and publishes it."""

    def __init__(self, context: Context, levels: LevelPublisher, half_life: timedelta) -> None:
        """`levels` must hold CapacitySeen, and be refreshed before `run`."""
        self.ready = asyncio.Event()
        self._levels = levels
        self._half_life = half_life.total_seconds()
        self._clock = context.clock
        self._meters = context.meters
        self._clusters: ReadModel[Key, State] = entities(context.bus, cluster.LIFECYCLE, context.meters)
        self._changes: asyncio.Queue[State] = asyncio.Queue()
        self._seen: dict[RegionKey, CapacitySeen] = {}

    async def run(self) -> None:
        """Learn from the present state of every cluster, publish, then follow the changes; for ever."""
        self._seen = {(seen.cloud, seen.region): seen for _, seen in self._levels.named(CapacitySeen)}
        # Before the view runs: the last failure of a cluster that was placed long ago is seen only so.
        self._clusters.listen(lambda _, state: self._changes.put_nowait(state))
        async with asyncio.TaskGroup() as group:
            group.create_task(self._clusters.run())
            await self._clusters.ready.wait()
            await self._publish_all()
            self.ready.set()
            while True:
                self._changes.put_nowait(await self._changes.get())  # wait for one, then take all that are queued
                await self._publish_all()

    async def _publish_all(self) -> None:
        touched: set[RegionKey] = set()
        while not self._changes.empty():
            touched |= self._learn(self._changes.get_nowait())
        for place in sorted(touched):
            await self._publish(self._seen[place], self._levels.last(CapacitySeen, *place))

    async def _publish(self, seen: CapacitySeen, last: CapacitySeen | None) -> None:
        before = last.refusals if last else ()
        self._gauge(seen)
        if seen.refusals != before:
            await self._levels.publish(seen, seen.cloud, seen.region)
            for _ in set(seen.refusals).difference(before):
                self._meters.count(CAPACITY_SIGNALS, seen.cloud)

    def _learn(self, state: State) -> set[RegionKey]:
        """Learn from one state; returns the regions whose refusals changed."""
        touched: set[RegionKey] = set()
        for place, refusal in refusals(state):
            self._seen[place] = learn(self._refusals_at(place), (refusal,), self._clock())
            touched.add(place)
        if isinstance(state, Ready):
            place = (state.attempt.placement.cloud, state.attempt.placement.region)
            self._seen[place] = forgive(self._refusals_at(place), state)
            touched.add(place)
        return touched

    def _refusals_at(self, place: RegionKey) -> CapacitySeen:
        new = CapacitySeen(cloud=place[0], region=place[1], half_life_seconds=self._half_life)
        return self._seen.get(place, new).but(half_life_seconds=self._half_life)

    def _gauge(self, seen: CapacitySeen) -> None:
        place = f"{seen.cloud}/{seen.region}"
        counted = Counter(refusal.reason for refusal in seen.refusals)
        series = {(("place", place), ("reason", reason)): float(number) for reason, number in counted.items()}
        self._meters.gauge(REFUSED, place, series)


MARKET = "market"
"""The key of the market among the shares of the inventory."""


class MarketWork:
    """The work on the market while it is this replica's: begun again if another one has published meanwhile."""

    def __init__(self, parts: Callable[[], tuple[CatalogRefresh, CapacityLearner]]) -> None:
        """`parts` makes both for each beginning."""
        self.ready = asyncio.Event()
        self._parts = parts

    async def run(self) -> None:
        """Follow catalogs and clusters until cancelled."""
        while True:
            try:
                async with asyncio.TaskGroup() as group:
                    for part in self._parts():
                        group.create_task(part.run())
                        await part.ready.wait()
                    self.ready.set()
            except* Outdated as late:
                log.info("market.watched_elsewhere", reason=str(late.exceptions[0]))
            raise_if_cancelled()
            await asyncio.sleep(LOOK)


class MarketLoop:
    """Publishes offers, the state of the catalogs, and regions without capacity."""

    def __init__(
        self,
        context: Context,
        sources: Sequence[CatalogSource],
        *,
        refresh: timedelta,
        half_life: timedelta,
        control_planes: Mapping[str, float] = NONE,
    ) -> None:
        """`control_planes`: USD per hour of a cluster's control plane, by cloud."""
        self.levels = LevelPublisher(context, Offers, CatalogSeen, CapacitySeen, retries=True)
        """The levels that were published last."""

        def parts() -> tuple[CatalogRefresh, CapacityLearner]:
            prices = CatalogRefresh(context, self.levels, sources, every=refresh, control_planes=control_planes)
            return prices, CapacityLearner(context, self.levels, half_life)

        self._standby = Standby(MARKET, context.share, lambda: MarketWork(parts))

    @property
    def ready(self) -> asyncio.Event:
        """Set once the market is published, or known to be another replica's."""
        return self._standby.ready

    async def run(self) -> None:
        """Follow catalogs and clusters for ever, as long as the market is of this replica's share."""
        await self.levels.refresh()
        async with asyncio.TaskGroup() as group:
            group.create_task(self.levels.follow())
            await self._standby.run()
