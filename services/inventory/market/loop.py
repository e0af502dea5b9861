"""Runs catalog refresh and capacity with one publisher, so that a restart publishes nothing new."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from events.bus import Bus
from events.meters import Meters
from schemas.inventory import Offers
from schemas.market import CapacitySeen, CatalogSeen
from services.clients.catalog_sources import CatalogSource
from services.inventory.market.capacity import CapacityLearner
from services.inventory.market.catalog_refresh import CatalogRefresh
from services.market.catalog import NONE
from services.runtime.context import Context
from services.runtime.level_publisher import LevelPublisher


class MarketLoop:
    """Says what is offered, how old the prices are, and where there was no room."""

    def __init__(  # noqa: PLR0913 - its ports and its two settings
        self,
        bus: Bus,
        sources: Sequence[CatalogSource],
        *,
        refresh: timedelta,
        half_life: timedelta,
        clock: Callable[[], datetime],
        meters: Meters,
        jitter: Callable[[], float],
        control_planes: Mapping[str, float] = NONE,
    ) -> None:
        """`control_planes` costs a cluster's control plane (USD/h), by cloud."""
        self.ready = asyncio.Event()
        context = Context(bus, clock, jitter, meters)
        self.levels = LevelPublisher(context, Offers, CatalogSeen, CapacitySeen, retries=True)
        """What was said last."""
        self._prices = CatalogRefresh(
            self.levels, sources, every=refresh, clock=clock, meters=meters, control_planes=control_planes
        )
        self._rooms = CapacityLearner(bus, self.levels, half_life, clock=clock, meters=meters)

    async def run(self) -> None:
        """Follow catalogs and clusters, for ever."""
        await self.levels.refresh()
        async with asyncio.TaskGroup() as group:
            for half in (self._prices, self._rooms):
                group.create_task(half.run())
                await half.ready.wait()
            self.ready.set()
