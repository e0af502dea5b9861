"""Whoever scrapes sees how far each consumer is, and keeps seeing it while the bus is away."""

import asyncio
from contextlib import aclosing, asynccontextmanager, suppress

import pytest

from events.bus import Consumer, Message, Unavailable
from events.memory.bus import MemoryBus
from events.meters import Meters
from services.edge.lag_metrics import LETTERS, MEASURE, PENDING, REDELIVERED, UNANSWERED, LagMetrics

pytestmark = pytest.mark.looptime

SLOW = Consumer("slow", "INTAKE", ("cluster.requested",), in_flight=2, ack_wait=3600.0)


class Away(MemoryBus):
    """A bus that can be taken away."""

    away = False

    async def consumers(self, stream):
        if self.away:
            raise Unavailable("no answer")
        return await super().consumers(stream)


@asynccontextmanager
async def measured():
    """A bus, and the figures of what is on it."""
    bus, meters = Away(), Meters()
    task = asyncio.create_task(LagMetrics(bus, ("INTAKE", "EVENTS"), meters).run())
    yield bus, meters
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def shown(meters, name):
    return {labels.get("consumer", labels["stream"]): value for labels, value in meters.gauges(name)}


async def test_what_waits_what_is_out_and_what_is_buried_is_counted():
    async with measured() as (bus, meters):
        for _ in range(5):
            await bus.publish(Message("cluster.requested", b""))
        async with aclosing(bus.consume(SLOW)) as deliveries:
            first = await anext(deliveries)
            await first.reject("wrong")
            await anext(deliveries)
            await asyncio.sleep(MEASURE + 1)
            assert shown(meters, PENDING)["slow"] + shown(meters, UNANSWERED)["slow"] == 4.0
            assert shown(meters, UNANSWERED)["slow"] >= 1.0
            assert shown(meters, REDELIVERED) == {"slow": 0.0}
            assert shown(meters, LETTERS) == {"DLQ": 1.0}


async def test_a_bus_that_is_away_ends_nothing_and_unsays_nothing():
    async with measured() as (bus, meters):
        await bus.publish(Message("cluster.requested", b""))
        await bus.unanswered(SLOW)
        await asyncio.sleep(MEASURE + 1)
        bus.away = True
        await asyncio.sleep(10 * MEASURE)
        before = shown(meters, PENDING)
        bus.away = False
        await bus.publish(Message("cluster.requested", b""))
        await asyncio.sleep(MEASURE + 1)
        assert (before, shown(meters, PENDING)) == ({"slow": 1.0}, {"slow": 2.0})
