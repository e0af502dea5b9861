"""How long a service takes to know everything again: 10,000 clusters, against a read that only keeps bytes."""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from time import perf_counter

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

from events.bus import Bus, Message
from events.cloudevents import CloudEvent, encode, msg_id
from events.jetstream.bus import connect
from events.jetstream.server import NatsServer
from schemas.cluster import LIFECYCLE, ClusterState, Launching, Pending, Placing, Provisioned, Ready
from schemas.placement import Attempt, Placement
from schemas.registry import Stream, declared
from schemas.subjects import Key
from schemas.wish import Limits, Need, Wish
from services.provisioning.lifecycle.todo import todo
from services.runtime.entity_store import EntityStore
from tests.bench.figure import Figure, Goal, alternate, of_pairs
from tests.context import context
from tests.samples import LOT, POOL

GOAL = Goal("ratio", 2.0)
ENTITIES = 10_000
PAIRS = 5
AT_ONCE = 512
"""How many entities are written at the same time; that is not measured."""
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def life(name: str) -> Iterator[ClusterState]:
    """Six events, as a cluster whose first offer had no room has them."""
    wish = Wish(
        tenant="acme",
        colony=name,
        cluster="gpu",
        uid=f"3a5d0b61-7c0f-4d0e-9b1b-{name:>012}",
        generation=1,
        need=Need(pools=(POOL,), max_price_per_hour=60.0, backend="capi"),
        limits=Limits(time_to_live_seconds=3600.0, idle_after_seconds=1800.0),
    )
    attempt = Attempt(number=1, placement=Placement(cloud="aws", region="us-east-1", lots=(LOT,)))
    first = Pending(uid=f"{wish.uid}.1", correlation=wish.uid, wish=wish)
    until = NOW + timedelta(minutes=30)
    launching = first.to(Launching, attempt=attempt, attempts=1, billed_since=NOW, deadline=until)
    yield first
    yield launching
    yield launching.to(Placing)
    yield launching
    yield launching.to(Provisioned, kubeconfig=f"{wish.name}-1-kubeconfig")
    yield launching.to(Ready, kubeconfig=f"{wish.name}-1-kubeconfig")


def message(state: ClusterState, revision: int) -> tuple[Message, str]:
    """A state as the ledger publishes it, and its message id."""
    key, kind = Key("cluster", "acme", state.wish.name), declared(type(state))
    written = msgspec.structs.replace(state, revision=revision, since=NOW)
    event = CloudEvent(
        id=f"cluster.{state.wish.name}.{state.uid}.{revision}",
        source=f"/alate/cluster/acme/{state.wish.name}",
        type=kind.type,
        subject=f"acme/{state.wish.name}",
        time=NOW,
        extensions={"correlationid": state.correlation},
        data=msgspec.json.encode(written),
    )
    headers, data = encode(event)
    return Message(key.state(kind.event), data, headers), msg_id(event)


async def fill(bus: Bus) -> None:
    """Write every entity's history."""
    left = iter(range(ENTITIES))

    async def write() -> None:
        for number in left:
            for revision, state in enumerate(life(str(number)), 1):
                said, own = message(state, revision)
                await bus.publish(said, msg_id=own)

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(write())


async def ledger(bus: Bus) -> float:
    """Seconds until every state is known, with what it asks for."""
    began = perf_counter()
    book = EntityStore(context(bus, lambda: NOW), LIFECYCLE)
    await book.boot()
    asking = sum(1 for _, entry in book if entry.state is not None and todo(entry.state))
    took = perf_counter() - began
    if (len(book), asking) != (ENTITIES, 0):
        raise RuntimeError(f"{len(book)} entities were read, {asking} of them with something to do")
    return took


class BareRead:
    """A nats-py connection and a push consumer, last per subject, with flow control; keeps bytes by subject."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._names = count()

    async def seconds(self) -> float:
        """Seconds until everything that was kept at the start is there."""
        began = perf_counter()
        inbox, kept, complete = self._client.new_inbox(), dict[str, bytes](), asyncio.Event()
        wanted = -1

        async def take(msg: Msg) -> None:
            if not msg.headers or "Status" not in msg.headers:
                kept[msg.subject] = msg.data
            elif msg.reply:
                await self._client.publish(msg.reply)
            if len(kept) == wanted:
                complete.set()

        subscription = await self._client.subscribe(inbox, cb=take)
        manager, name = self._client.jsm(), f"bare-{next(self._names)}"
        info = await manager.add_consumer(Stream.EVENTS, _last_per_subject(name, inbox))
        wanted = info.num_pending or 0
        if len(kept) < wanted:
            await complete.wait()
        took = perf_counter() - began
        await subscription.unsubscribe()
        await manager.delete_consumer(Stream.EVENTS, name)
        return took


def _last_per_subject(name: str, inbox: str) -> ConsumerConfig:
    return ConsumerConfig(
        name=name,
        deliver_subject=inbox,
        deliver_policy=DeliverPolicy.LAST_PER_SUBJECT,
        ack_policy=AckPolicy.NONE,
        flow_control=True,
        idle_heartbeat=2.0,
        mem_storage=True,
        num_replicas=1,
        filter_subject="cluster.*.*.*",
    )


async def measure(folder: Path) -> list[Figure]:
    """One figure: seconds."""
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(NatsServer(folder / "nats"))
        bus = await connect(server.url, name="bench")
        stack.push_async_callback(bus.close)
        client = Client()
        await client.connect(server.url)
        stack.push_async_callback(client.close)
        await fill(bus)
        bare = BareRead(client)
        pairs = await alternate(lambda: ledger(bus), bare.seconds, PAIRS)
        return [of_pairs(f"boot with {ENTITIES:,} clusters", "s", pairs, GOAL)]
