"""After the move to subjects with the back end, what was said before is known, and said no more where it was."""

from datetime import UTC, datetime

import msgspec

from events.bus import Message
from events.memory.bus import MemoryBus
from events.meters import Meters
from schemas.infra import InfraSeen
from services.gateway.moved import BEFORE, carry_over
from services.runtime.level_publisher import LevelPublisher

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SEEN = InfraSeen(cluster="train-a", uid="c1.1", attempt=1, backend="capi", reachable=True)
OLD = "observed.infra.acme.train-a-1"


async def said_before(*levels):
    bus = MemoryBus()
    for subject, data in levels:
        await bus.publish(Message(subject, data if isinstance(data, bytes) else msgspec.json.encode(data)))
    return bus


async def booted(bus):
    levels = LevelPublisher(bus, lambda: NOW, Meters(), InfraSeen)
    await levels.boot()
    await carry_over(bus, levels)
    return levels


async def test_what_was_said_before_is_said_under_its_back_end_and_nowhere_else():
    bus = await said_before((OLD, SEEN))
    levels = await booted(bus)
    assert levels.last(InfraSeen, "acme", "capi", "train-a-1") == SEEN
    assert [each.subject for each in await bus.read("LEVELS", ">")] == ["observed.infra.acme.capi.train-a-1"]


async def test_a_second_start_writes_nothing():
    bus = await said_before((OLD, SEEN))
    await booted(bus)
    before = await bus.read("LEVELS", ">")
    await booted(bus)
    assert await bus.read("LEVELS", ">") == before


async def test_what_was_said_since_is_not_overwritten():
    newer = msgspec.structs.replace(SEEN, reachable=False)
    bus = await said_before((OLD, SEEN), ("observed.infra.acme.capi.train-a-1", newer))
    assert (await booted(bus)).last(InfraSeen, "acme", "capi", "train-a-1") == newer
    assert await bus.count("LEVELS", BEFORE) == 0


async def test_what_cannot_be_told_whose_it_was_is_purged_and_the_rest_is_carried_over():
    nobodys = msgspec.structs.replace(SEEN, backend="")
    bus = await said_before(("observed.infra.acme.a", b"{"), ("observed.infra.acme.b", nobodys), (OLD, SEEN))
    levels = await booted(bus)
    assert [names for names, _ in levels.named(InfraSeen)] == [("acme", "capi", "train-a-1")]
    assert await bus.count("LEVELS", BEFORE) == 0
