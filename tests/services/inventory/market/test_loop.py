"""The market is told as it is, survives what goes wrong, and is not told again when nothing has changed."""

import asyncio
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from events.bus import Message
from events.memory.bus import MemoryBus
from events.meters import CAPACITY_SIGNALS, CATALOG_FAILURES, CATALOG_REFUSED, Meters
from schemas.cluster import Placing, Ready
from schemas.inventory import Offers
from schemas.market import CapacitySeen, CatalogSeen
from schemas.placement import Attempt, Lot, Placement
from schemas.registry import Stream, declared
from schemas.subjects import Key
from schemas.wish import Need, Pool, Wish
from services.inventory.market import loop
from services.inventory.market.loop import AS_OF, REFUSED, MarketLoop
from services.market.catalog_parser import CatalogText, UnreadCatalog
from tests.context import context

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

START = datetime(2026, 1, 1, tzinfo=UTC)
HEAD = "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,SpotPrice,Region,AvailabilityZone\n"
EAST = "p5,H100,8,192,2048,98.32,21.5,us-east-1,a\n"
WEST = "p5,H100,8,192,2048,99.0,,us-west-2,b\n"
DEAD = UnreadCatalog("aws", "u", "u answers 404 Not Found")
WISH = Wish(
    tenant="acme", colony="train", cluster="a", uid="c1", generation=1,
    need=Need(pools=(Pool(name="gpu", accelerator="H100", accelerators_per_node=8, nodes=2),)),
)  # fmt: skip


def clock() -> datetime:
    return START + timedelta(seconds=asyncio.get_running_loop().time())


def text(*rows, cloud="aws") -> CatalogText:
    return CatalogText(cloud, f"{cloud}.csv", (HEAD + "".join(rows)).encode(), ".csv", START)


class Source:
    """Holds what a test puts into it; its mark follows when the test says so."""

    def __init__(self, *found) -> None:
        self.found, self.marked, self.reads = found, 0, 0

    async def read(self):
        self.reads += 1
        return self.found

    def mark(self):
        return self.marked


class House:
    """A bus that outlives the service."""

    def __init__(self) -> None:
        self.bus = MemoryBus(clock=clock)
        self.source = Source(text(EAST, WEST))
        self.meters = Meters()
        self.task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await self.stop()
        ports = context(self.bus.again(), clock, self.meters)
        market = MarketLoop(ports, (self.source,), refresh=timedelta(hours=6), half_life=timedelta(hours=1))
        self.task = asyncio.create_task(market.run())
        await market.ready.wait()

    async def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)

    async def last(self, kind, *names):
        stored = await self.bus.last(Stream.LEVELS, declared(kind).at(*names))
        return msgspec.json.decode(stored.data, type=kind) if stored else None

    async def prices(self, region="us-east-1"):
        return [offer.price for offer in (await self.last(Offers, "aws", region)).offers]

    async def newest(self) -> int:
        """The place of the last level that was said."""
        stored = await self.bus.last(Stream.LEVELS, ">")
        return stored.sequence if stored else 0

    async def be(self, state) -> None:
        subject = Key("cluster", "acme", state.wish.name).state(declared(type(state)).event)
        await self.bus.publish(Message(subject, msgspec.json.encode(state)))
        await asyncio.sleep(1)


@pytest.fixture
async def house():
    made = House()
    yield made
    await made.stop()


async def test_offers_are_told_by_region_with_their_age_and_the_catalog_with_its_size(house):
    await house.start()
    assert (await house.prices(), await house.prices("us-west-2")) == ([98.32], [99.0])
    assert (await house.last(Offers, "aws", "us-east-1")).as_of == START
    seen = await house.last(CatalogSeen, "aws")
    assert (seen.offers, seen.freshness, seen.observed_at) == (2, "known", START)
    assert house.meters.gauges(AS_OF) == (({"cloud": "aws", "freshness": "known"}, START.timestamp()),)


async def test_a_restart_and_a_new_reading_of_the_same_say_nothing(house, monkeypatch):
    monkeypatch.setattr(loop, "LOOK", 60.0)
    await house.start()
    await house.be(placing())
    told = await house.newest()
    await house.start()
    await asyncio.sleep(timedelta(hours=13).total_seconds())
    assert house.source.reads == 4
    assert await house.newest() == told


async def test_prices_are_read_again_when_it_is_time(house, monkeypatch):
    monkeypatch.setattr(loop, "LOOK", 60.0)
    await house.start()
    house.source.found = (text(EAST.replace("98.32", "50")),)
    await asyncio.sleep(timedelta(hours=5, minutes=59).total_seconds())
    assert await house.prices() == [98.32]
    await asyncio.sleep(120)
    assert await house.prices() == [50.0]


async def test_prices_are_read_again_at_once_when_a_file_has_changed(house):
    await house.start()
    house.source.found, house.source.marked = (text(EAST.replace("98.32", "50")),), 1
    await asyncio.sleep(5)
    assert await house.prices() == [50.0]


async def test_a_dead_source_leaves_what_was_good_served_even_after_a_restart(house):
    await house.start()
    house.source.found, house.source.marked = (DEAD,), 1
    await asyncio.sleep(5)
    await house.start()
    assert (await house.prices(), await house.prices("us-west-2")) == ([98.32], [99.0])
    seen = await house.last(CatalogSeen, "aws")
    assert seen.freshness == "stale"
    assert seen.degraded[0].message == ("u answers 404 Not Found; the prices of 2026-01-01 00:00 UTC stay served")
    assert dict(house.meters.counts(CATALOG_FAILURES)) == {"aws": 2}


async def test_a_region_or_a_cloud_that_is_in_no_catalog_any_more_offers_nothing(house):
    await house.start()
    house.source.found, house.source.marked = (text(EAST),), 1
    await asyncio.sleep(5)
    assert (await house.prices(), await house.prices("us-west-2")) == ([98.32], [])
    house.source.found, house.source.marked = (), 2
    await asyncio.sleep(5)
    assert await house.prices() == []
    assert (await house.last(CatalogSeen, "aws")).freshness == "gone"


async def test_a_folder_that_cannot_be_read_takes_nothing_away(house):
    await house.start()
    house.source.found, house.source.marked = (UnreadCatalog("", "prices", "prices cannot be read"),), 1
    await asyncio.sleep(5)
    assert await house.prices() == [98.32]
    assert dict(house.meters.counts(CATALOG_FAILURES)) == {"folder": 1}


async def test_bad_rows_are_counted_once_and_the_good_ones_served(house):
    house.source.found = (text(EAST, WEST.replace("99.0", "cheap")),)
    await house.start()
    await house.start()
    assert await house.prices() == [98.32]
    assert dict(house.meters.counts(CATALOG_REFUSED)) == {"aws": 1}


async def test_one_bad_catalog_does_no_harm_to_another(house):
    house.source.found = (DEAD, text(EAST, cloud="lambda"))
    await house.start()
    assert [o.price for o in (await house.last(Offers, "lambda", "us-east-1")).offers] == [98.32]


def attempt(number=1, reason="NoCapacity") -> Attempt:
    lot = Lot(
        pool="gpu", instance="p5", zone="a", accelerator="H100", accelerators_per_node=8, nodes=2,
        price_per_hour=98.32, spot=False,
    )  # fmt: skip
    return Attempt(number=number, placement=Placement(cloud="aws", region="us-east-1", lots=(lot,)), reason=reason)


def placing(number=1, **more) -> Placing:
    return Placing(uid="u1", wish=WISH, attempt=attempt(number), since=more.pop("since", clock()), **more)


async def refused(house):
    seen = await house.last(CapacitySeen, "aws", "us-east-1")
    return [refusal.attempt for refusal in seen.refusals] if seen else None


async def test_a_failure_that_was_the_clouds_becomes_a_signal_of_its_region(house):
    await house.start()
    assert await refused(house) is None
    await house.be(placing())
    seen = await house.last(CapacitySeen, "aws", "us-east-1")
    assert (seen.half_life_seconds, [r.attempt for r in seen.refusals]) == (3600.0, ["u1/1"])
    assert dict(house.meters.counts(CAPACITY_SIGNALS)) == {"aws": 1}
    assert house.meters.gauges(REFUSED) == (({"place": "aws/us-east-1", "reason": "NoCapacity"}, 1.0),)


async def test_a_failure_that_nobody_heard_is_learnt_at_the_next_start(house):
    state = placing()
    await house.be(state)
    ready = state.to(Ready, attempt=attempt(2, ""), failed_attempts=(attempt(),), billed_since=clock(), kubeconfig="k")
    await house.be(msgspec.structs.replace(ready, since=clock()))
    await house.start()
    # The second attempt is on the very same machines: it proves the first refusal wrong.
    assert await refused(house) is None
    await house.be(msgspec.structs.replace(placing(3), uid="u2"))
    await house.start()
    assert await refused(house) == ["u2/3"]


async def test_a_cluster_that_gets_ready_there_ends_the_signal(house):
    await house.start()
    await house.be(placing())
    await house.be(Ready(
        uid="u2", wish=WISH, attempt=attempt(1, ""), billed_since=clock(), kubeconfig="k", since=clock()
    ))  # fmt: skip
    assert await refused(house) == []


async def test_a_signal_outlives_a_restart(house):
    await house.start()
    await house.be(placing())
    await house.start()
    assert await refused(house) == ["u1/1"]
