import asyncio
from datetime import UTC, datetime

import pytest

from events.memory.bus import MemoryBus
from events.meters import Meters
from schemas.inventory import ClusterSeen, NodeSeen
from schemas.subjects import Key
from services.inventory.watch.gauge_updates import MEASURE, GaugeUpdates
from services.inventory.watch.publisher import ClusterPublisher
from services.runtime.level_publisher import LevelPublisher
from tests.context import context

pytestmark = pytest.mark.looptime

KEY = Key("cluster", "acme", "train")
AVAILABLE = "alate.inventory.available"


class Counting(Meters):
    def __init__(self):
        super().__init__()
        self.times = 0

    def gauge(self, name, source, series):
        self.times += name == AVAILABLE
        super().gauge(name, source, series)


async def measured(make):
    meters, clock = Counting(), lambda: datetime(2026, 1, 1, tzinfo=UTC)
    levels = LevelPublisher(context(MemoryBus(), clock, meters), NodeSeen, ClusterSeen)
    await levels.refresh()
    book = make.book([make.node()], [])
    voice = ClusterPublisher(levels, KEY, clock)
    await voice.say(make.whole(book))
    return meters, GaugeUpdates(KEY, book, voice, meters)


async def test_what_changes_within_a_moment_is_counted_once_and_what_changes_later_again(make):
    meters, measures = await measured(make)
    for _ in range(3):
        measures.soon()
    assert meters.times == 0
    await asyncio.sleep(2 * MEASURE)
    assert meters.times == 1
    measures.soon()
    await asyncio.sleep(2 * MEASURE)
    assert meters.times == 2
    ((labels, value),) = meters.gauges(AVAILABLE)
    assert (labels["cluster"], value) == (KEY.path, 8)


async def test_what_was_closed_counts_no_more(make):
    meters, measures = await measured(make)
    measures.soon()
    measures.close()
    await asyncio.sleep(2 * MEASURE)
    assert meters.times == 0
