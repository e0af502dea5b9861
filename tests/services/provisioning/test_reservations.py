"""Of two who want the last machines at the same moment one gets them, whoever dies, restarts or is slow."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from events.bus import Message
from events.errors import Denied, NotFound, TryLater
from events.memory.bus import MemoryBus
from schemas import cluster
from schemas.attempts import AttemptGone, Launch, OrphanCreated
from schemas.changes import Resize, ResizeRefused
from schemas.cluster import Launching, Placing, Provisioned
from schemas.entity import Due
from schemas.infra import InfraSeen
from schemas.inventory import Offer, Offers
from schemas.placement import Attempt, Lot, Placement
from schemas.registry import declared
from schemas.subjects import Key
from schemas.wish import Need, Pool, Wish
from services.provisioning.act import ProvisioningCalls
from services.provisioning.lifecycle.decide import decide
from services.provisioning.lifecycle.launch import LAUNCH_LIMIT
from services.provisioning.market_view import MarketView
from services.provisioning.placement.supply import held_attempt, machines_of
from services.provisioning.service import service
from services.runtime.loop import Runtime
from tests.context import context

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

START = datetime(2026, 1, 1, tzinfo=UTC)
STOCK = ("own", "r", "", "dgx")
DGX = Offer(cloud="own", region="r", instance="dgx", accelerator="H100", accelerators=8, price=0.0, limit=2)


def clock() -> datetime:
    return START + timedelta(seconds=asyncio.get_running_loop().time())


def wish(name, nodes=2, **fields) -> Wish:
    pools = (Pool(name="gpu", accelerator="H100", accelerators_per_node=8, nodes=nodes),)
    need = Need(pools=pools, backend="fake")
    return Wish(tenant="acme", colony=name, cluster="a", uid=name, generation=1, need=need, **fields)


class Cloud:
    """A back end that founds at once, and counts what stands at the same time."""

    def __init__(self, bus, *, works=True):
        self.standing: dict[str, int] = {}
        self.most = 0
        self._bus, self._works = bus, works

    async def reach(self, wish):
        return {"own": False}

    async def launch(self, wish, attempt, uid):
        self.standing[attempt.object_name(wish.name)] = wish.need.nodes
        self.most = max(self.most, sum(self.standing.values()))
        if self._works:
            seen = InfraSeen(cluster=wish.name, uid=uid, attempt=attempt.number, reachable=True)
            await say(self._bus, seen, "acme", wish.need.backend, attempt.object_name(wish.name))

    async def release(self, wish, attempt):
        if not self.standing.pop(attempt.object_name(wish.name), None):
            raise NotFound("nothing is left")


async def say(bus, level, *names):
    await bus.publish(Message(declared(type(level)).at(*names), msgspec.json.encode(level)))


async def replica(bus, cloud):
    """One process of provisioning, until it is cancelled."""
    provisioning, views = service(context(bus, clock), {"fake": cloud})
    runtime = Runtime(provisioning, context(bus, clock))
    async with asyncio.TaskGroup() as group:
        for view in views:
            group.create_task(view.run())
            await view.ready.wait()
        group.create_task(runtime.run())


class House:
    """A bus, the offers, and replicas that are all ended at the end."""

    def __init__(self, **how):
        self.bus = MemoryBus(clock=clock)
        self.cloud = Cloud(self.bus, **how)
        self.tasks = []

    async def start(self, replicas=1):
        await say(self.bus, Offers(cloud="own", region="r", offers=(DGX,)), "own", "r")
        self.tasks += [asyncio.create_task(replica(self.bus.again(), self.cloud)) for _ in range(replicas)]
        await asyncio.sleep(1)

    async def stop(self):
        for task in self.tasks:
            task.cancel()
        for task in self.tasks:
            with suppress(asyncio.CancelledError, BaseExceptionGroup):
                await task
        self.tasks.clear()

    async def ask(self, *wishes):
        await asyncio.gather(*(say(self.bus, each, "acme", each.name) for each in wishes))

    async def state(self, name):
        stored = await self.bus.last("EVENTS", Key("cluster", "acme", f"{name}-a").history)
        kinds = {declared(kind).event: kind for kind in cluster.LIFECYCLE.states}
        return msgspec.json.decode(stored.data, type=kinds[stored.subject.split(".")[1]]) if stored else None


@pytest.fixture
async def house():
    made = House()
    yield made
    await made.stop()


@pytest.mark.parametrize("replicas", [1, 2, 3])
async def test_of_two_who_ask_at_once_for_the_last_nodes_exactly_one_gets_them(house, replicas):
    await house.start(replicas)
    await house.ask(wish("one"), wish("two"))
    await asyncio.sleep(60)
    states = [await house.state(name) for name in ("one", "two")]
    assert sorted(type(state).__name__ for state in states) == ["Provisioned", "Waiting"]
    (lost,) = (state for state in states if isinstance(state, cluster.Waiting))
    assert lost.reason == "Taken"
    assert house.cloud.most == 2


async def test_many_who_ask_at_once_never_hold_more_than_there_is_and_leave_nothing_unused(house):
    await house.start(2)
    await house.ask(*(wish(f"c{n}", nodes=1) for n in range(12)))
    await asyncio.sleep(120)
    states = [await house.state(f"c{n}") for n in range(12)]
    assert house.cloud.most <= 2
    assert sum(isinstance(state, Provisioned) for state in states) == 2
    assert all(isinstance(state, Provisioned | cluster.Waiting) for state in states)


async def test_what_is_held_is_held_after_a_restart(house):
    await house.start()
    await house.ask(wish("one"))
    await asyncio.sleep(10)
    await house.stop()
    await house.start()
    await house.ask(wish("two"))
    await asyncio.sleep(60)
    assert isinstance(await house.state("one"), Provisioned)
    assert (await house.state("two")).reason == "Taken"
    assert house.cloud.most == 2


async def test_what_is_released_can_be_had_again(house):
    await house.start()
    await house.ask(wish("one"))
    await asyncio.sleep(10)
    first = await house.state("one")
    released = first.to(cluster.Released, reason="Deleted")
    # As the last word of its owner would be, with the machines gone.
    house.cloud.standing.clear()
    await house.bus.publish(Message("cluster.released.acme.one-a", msgspec.json.encode(released)))
    await asyncio.sleep(1)
    await house.ask(wish("two"))
    await asyncio.sleep(10)
    assert isinstance(await house.state("two"), Provisioned)


async def test_the_hold_of_a_dead_attempt_ends_with_its_time_limit():
    house = House(works=False)
    try:
        await house.start()
        await house.ask(wish("dead"))
        await asyncio.sleep(10)
        assert isinstance(await house.state("dead"), Launching)
        assert machines_of(held_attempt(await house.state("dead")))[STOCK] == 2
        await asyncio.sleep(LAUNCH_LIMIT.total_seconds() + 60)
        assert (await house.state("dead")).reason == "TimeOut"
        assert house.cloud.standing == {}
        await house.ask(wish("next"))
        await asyncio.sleep(10)
        assert isinstance(await house.state("next"), Launching)
    finally:
        await house.stop()


def launching(name, number=1, uid="", nodes=2) -> Launching:
    placement = Placement(
        cloud="own", region="r",
        lots=(Lot(
            pool="gpu", instance="dgx", zone="", accelerator="H100", accelerators_per_node=8, nodes=nodes,
            price_per_hour=0.0, spot=False,
        ),),
    )  # fmt: skip
    return Launching(
        uid=uid or f"{name}.1", wish=wish(name, nodes), attempt=Attempt(number=number, placement=placement),
        attempts=number, billed_since=START, deadline=START + LAUNCH_LIMIT,
    )  # fmt: skip


async def write(bus, state):
    await bus.publish(
        Message(f"cluster.{type(state).__name__.lower()}.acme.{state.wish.name}", msgspec.json.encode(state))
    )


def command(state) -> Launch:
    return Launch(state.wish, state.attempt, state.uid)


@pytest.fixture
async def stalls():
    """Stands at one market, each of a replica of its own; and their bus."""
    bus, tasks = MemoryBus(clock=clock), []
    await say(bus, Offers(cloud="own", region="r", offers=(DGX,)), "own", "r")

    async def stand():
        market_view = MarketView(context(bus.again(), clock))
        for view in market_view.views:
            tasks.append(asyncio.create_task(view.run()))
            await view.ready.wait()
        return market_view

    yield bus, stand
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_who_held_first_in_the_stream_counts_on_every_replica(stalls):
    bus, stand = stalls
    first, second = launching("one"), launching("two")
    await write(bus, first)
    await write(bus, second)
    for market_view in (await stand(), await stand()):
        await market_view.claim(command(first))
        with pytest.raises(Denied, match="of dgx in r there are 2, and others chose them first") as denied:
            await market_view.claim(command(second))
        assert denied.value.reason == "Taken"


async def test_a_wish_amended_since_does_not_lose_its_place(stalls):
    bus, stand = stalls
    first, second = launching("one"), launching("two")
    for state in (first, second, msgspec.structs.replace(first, refused="amended")):
        await write(bus, state)
    market_view = await stand()
    await market_view.claim(command(first))
    with pytest.raises(Denied):
        await market_view.claim(command(second))


async def test_an_earlier_attempts_place_is_not_the_next_ones(stalls):
    bus, stand = stalls
    for state in (launching("one"), launching("two"), launching("one", number=2)):
        await write(bus, state)
    market_view = await stand()
    await market_view.claim(command(launching("two")))
    with pytest.raises(Denied):
        await market_view.claim(command(launching("one", number=2)))


async def test_nothing_is_bought_before_our_own_choice_has_come_back(stalls):
    bus, stand = stalls
    market_view = await stand()
    with pytest.raises(TryLater):
        await market_view.claim(command(launching("one")))
    await write(bus, launching("one"))
    await asyncio.sleep(1)
    await market_view.claim(command(launching("one")))
    with pytest.raises(TryLater):
        await market_view.claim(command(launching("one", number=2)))
    with pytest.raises(TryLater):
        await market_view.claim(command(launching("one", uid="another incarnation")))


class Slow(Cloud):
    """A back end on which the world moves on while a launch is on its way."""

    def __init__(self, bus, meanwhile):
        super().__init__(bus, works=False)
        self._meanwhile = meanwhile

    async def launch(self, wish, attempt, uid):
        await write(self._bus, self._meanwhile)
        await super().launch(wish, attempt, uid)


@pytest.mark.parametrize(
    ("becomes", "stands"),
    [
        (lambda state: state.to(cluster.Released, reason="Deleted"), False),
        (lambda _: launching("one", number=2), False),
        (lambda _: launching("one", uid="another incarnation"), False),
        (lambda state: msgspec.structs.replace(state, refused="amended"), True),
    ],
    ids=["released", "next attempt", "next incarnation", "amended"],
)
async def test_what_was_let_go_while_it_was_being_made_is_told(stalls, becomes, stands):
    bus, stand = stalls
    state = launching("one")
    await write(bus, state)
    cloud, market_view = Slow(bus, becomes(state)), await stand()
    await asyncio.sleep(1)
    told = await ProvisioningCalls({"fake": cloud}, market_view, None, None).launch(command(state))
    assert told == (() if stands else (OrphanCreated(msgspec.structs.replace(state.attempt, backend="fake")),))


def grown(state, nodes):
    placement = state.attempt.placement
    lots = tuple(msgspec.structs.replace(lot, nodes=nodes) for lot in placement.lots)
    attempt = msgspec.structs.replace(state.attempt, placement=msgspec.structs.replace(placement, lots=lots))
    return msgspec.structs.replace(state, attempt=attempt)


def resize(state, *, grows=True):
    return Resize(state.wish, state.attempt, state.uid, grows)


async def test_one_that_grows_gets_no_machine_that_another_holds(stalls):
    bus, stand = stalls
    market_view, small = await stand(), grown(launching("one"), 1)
    calls = ProvisioningCalls({"fake": Cloud(bus)}, market_view, None, None)
    for state in (small, grown(launching("two"), 1), grown(small, 2)):
        await write(bus, state)
    await asyncio.sleep(1)
    (told,) = await calls.resize(resize(grown(small, 2)))
    assert told == ResizeRefused(
        1, grown(small, 2).attempt.placement.lots, "of dgx in r there are 2, of which others hold 1", "Taken"
    )


async def test_one_that_grows_waits_until_its_own_new_size_has_come_back(stalls):
    bus, stand = stalls
    market_view, state = await stand(), grown(launching("one"), 1)
    await write(bus, state)
    await asyncio.sleep(1)
    with pytest.raises(TryLater):
        await market_view.check_room(resize(grown(state, 2)))
    await write(bus, grown(state, 2))
    await asyncio.sleep(1)
    await market_view.check_room(resize(grown(state, 2)))


async def test_one_that_shrinks_asks_nobody(stalls):
    _, stand = stalls
    await (await stand()).check_room(resize(launching("one"), grows=False))


async def test_what_has_no_limit_is_not_waited_for(stalls):
    _, stand = stalls
    market_view = await stand()
    market_view.market.replace(("own", "r"), (msgspec.structs.replace(DGX, limit=None),))
    await market_view.claim(command(launching("one")))


async def test_a_failed_try_is_held_until_it_is_gone():
    state = launching("one")
    failed = decide.decide(state, Due(), START + LAUNCH_LIMIT)
    assert isinstance(failed, Placing)
    assert machines_of(held_attempt(state)) == machines_of(held_attempt(failed)) == {STOCK: 2}
    assert held_attempt(decide.decide(failed, AttemptGone(1), START)) is None
