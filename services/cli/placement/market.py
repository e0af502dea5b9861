"""The market that a plan uses: of the running stack, or of catalogs alone."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from events.bus import Bus
from events.meters import Meters
from schemas.inventory import Offer
from schemas.market import CatalogSeen
from schemas.wish import Wish
from services.cli.connection import Connection
from services.clients.catalog_sources import sources
from services.clouds.port import Cloud, backends
from services.errors import BadInput, Failed
from services.inventory.preview import judge
from services.market.catalog_parser import CatalogReading, UnreadCatalog
from services.provisioning.preview import NOTHING_KNOWN, MarketKnowledge, MarketView, OfferIndex
from services.runtime.context import Context


@dataclass(frozen=True)
class Stand:
    """All that a plan is made from."""

    market: OfferIndex
    known: Callable[[Wish], MarketKnowledge]
    """What to hold against the prices."""
    clouds: Mapping[str, Cloud] | None
    """The back ends; None: no management cluster is asked."""
    source: str
    """Where the offers are from."""
    troubles: tuple[str, ...] = ()
    """What is wrong with them, a sentence each."""


@asynccontextmanager
async def stand(where: Connection, catalogs: Sequence[str]) -> AsyncIterator[Stand]:
    """The market as it is now. Raises BadInput, Failed, Absent, Denied("BadKubeconfig").

    The management cluster is asked where it is given, or where the stack in the folder is what is meant.
    """
    if catalogs and where.nats:
        raise BadInput("--catalog takes the place of the stack's offers: leave it out, or leave out --nats")
    made = await of_catalogs(catalogs) if catalogs else await _of_stack(where)
    if where.kubeconfig is None and (catalogs or where.nats):
        yield made
        return
    async with where.kube() as kube:
        yield Stand(made.market, made.known, backends(kube), made.source, made.troubles)


async def of_catalogs(entries: Sequence[str]) -> Stand:
    """From files alone; of what is held or refused nothing is known. Raises BadInput."""
    offers, troubles = await offered(entries)
    return Stand(OfferIndex.from_offers(offers), lambda _: NOTHING_KNOWN, None, ",".join(entries), troubles)


async def offered(entries: Sequence[str]) -> tuple[list[Offer], tuple[str, ...]]:
    """What catalogs offer, and what is wrong with them, a sentence each. Raises BadInput."""
    setting = ",".join(entries)
    found: dict[str, list[CatalogReading]] = {}
    for source in sources(setting):
        for each in await source.read():
            found.setdefault(each.cloud, []).append(each)
    offers: list[Offer] = []
    troubles: list[str] = []
    for cloud, several in found.items():
        seen, catalog = judge(CatalogSeen(cloud=cloud), several, datetime.now(UTC))
        if catalog is None or catalog.damaged:
            why = several[0].why if isinstance(several[0], UnreadCatalog) else seen.degraded[-1].message
            raise BadInput(f"--catalog {setting}: {why}")
        offers += catalog.offers
        troubles += [trouble.message for trouble in seen.degraded]
    return offers, tuple(troubles)


async def _of_stack(where: Connection) -> Stand:
    async with where.bus() as bus:
        market_view = await heard(bus)
    if not market_view.has_offers:
        raise Failed("the inventory has not said what the market offers yet: `alate get offers` shows when it has")
    return Stand(market_view.market, market_view.knowledge, None, "the running stack")


async def heard(bus: Bus) -> MarketView:
    """What provisioning itself knows of the market, once all of it is heard."""
    market_view = MarketView(Context(bus, lambda: datetime.now(UTC), random.random, Meters()))
    async with asyncio.TaskGroup() as group:
        following = [group.create_task(view.run()) for view in market_view.views]
        for view in market_view.views:
            await view.ready.wait()
        for each in following:
            each.cancel()
    return market_view
