"""Levels of recent refusals by region, so that offers there count dearer for a while."""

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta

from events.bus import Bus
from events.meters import CAPACITY_SIGNALS, Meters
from schemas import cluster
from schemas.cluster import Ready
from schemas.entity import State
from schemas.market import CapacitySeen
from schemas.subjects import Key
from services.market.capacity import RegionKey, forgive, learn, refusals
from services.runtime.level_publisher import LevelPublisher
from services.runtime.read_model import ReadModel, entities

REFUSED = "alate.capacity.refused"
"""How many refusals are remembered, by place (``cloud/region``) and reason."""


class CapacityLearner:
    """Hears of every cluster, and says where a cloud had no room."""

    def __init__(
        self, bus: Bus, levels: LevelPublisher, half_life: timedelta, *, clock: Callable[[], datetime], meters: Meters
    ) -> None:
        """`levels` must hold CapacitySeen, and be booted before `run`."""
        self.ready = asyncio.Event()
        self._levels = levels
        self._half_life = half_life.total_seconds()
        self._clock = clock
        self._meters = meters
        self._clusters: ReadModel[Key, State] = entities(bus, cluster.LIFECYCLE, meters)
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
