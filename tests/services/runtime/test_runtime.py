"""The one loop: every message is heard, every transition said once, everything asked for done."""

import asyncio

import msgspec
import pytest

from events.bus import Message, Unavailable
from events.errors import TryLater
from events.memory.consumer import DeliveredMessage
from events.meters import DWELT, LAG, SETTLED, TRANSITIONS, UNDECODABLE
from events.streams import REASON, SEQUENCE
from schemas.entity import State
from schemas.registry import Stream

pytestmark = pytest.mark.looptime


async def test_every_transition_is_one_message_that_says_where_it_comes_from(house):
    await house.start()
    await house.press("hall")
    waiting, lit = await house.history("hall")
    assert [waiting.subject, lit.subject] == ["lamp.waiting.acme.hall", "lamp.lit.acme.hall"]
    assert msgspec.json.decode(lit.data, type=State).revision == 2
    expected = {
        "ce-specversion": "1.0", "ce-source": "/alate/lamp/acme/hall", "ce-subject": "acme/hall",
        "ce-correlationid": "house", "ce-causationid": "finger.l1.True",
    }  # fmt: skip
    for revision, stored in enumerate((waiting, lit), start=1):
        assert expected.items() <= stored.headers.items()
        assert stored.headers["ce-id"] == f"lamp.hall.l1.{revision}"
        assert stored.headers["ce-type"] == f"dev.alate.{stored.subject[:-10]}"
        assert stored.headers["ce-time"].endswith("Z")
        assert stored.headers["traceparent"]


async def test_time_never_stands_still_between_two_states_of_one_entity(house):
    await house.start()
    await house.press("hall")
    since = [msgspec.json.decode(stored.data, type=State).since for stored in await house.history("hall")]
    assert since == sorted(set(since))


async def test_what_cannot_be_said_yet_is_asked_again_after_the_time_that_was_named(house):
    house.answers = [TryLater("no current", 10.0), TryLater("no current", 20.0)]
    await house.start()
    await house.press("hall", wait=60)
    first, second, third = (at for _, at in house.connects)
    assert (second - first, third - second) == (pytest.approx(10.0), pytest.approx(20.0))
    assert await house.story() == ["waiting", "lit"]


async def test_an_api_server_that_is_away_for_long_makes_no_dead_letter_of_a_command(house):
    await house.start()
    house.answers = [TryLater("no answer")] * 900
    await house.press("hall", wait=0)
    await asyncio.sleep(1000)
    assert await house.story() == ["waiting", "lit"]
    assert await house.bus.count("DLQ", ">") == 0


async def test_a_fault_of_ours_stops_no_other_entity_and_is_tried_again(house):
    house.answers = [ZeroDivisionError("ours")]
    await house.start()
    await house.press("hall")
    await house.press("attic")
    assert await house.story("attic") == ["waiting", "lit"]
    await asyncio.sleep(10)
    assert await house.story("hall") == ["waiting", "lit"]
    assert dict(house.meters.counts("alate.failures")) == {"lamp": 1}


async def test_a_bus_that_stays_away_is_asked_less_and_less_often(house):
    task = await house.start()
    await house.press("hall", on=False)
    press = asyncio.create_task(house.press("hall"))
    await asyncio.sleep(0)
    house.bus.astray["publish"] = 1000
    await press
    await asyncio.sleep(600)
    assert 1000 - house.bus.astray["publish"] < 60
    house.bus.astray["publish"] = 0
    await asyncio.sleep(60)
    assert not task.done()


@pytest.mark.parametrize("call", ["wake", "publish"])
async def test_a_bus_that_was_away_for_a_moment_loses_no_command(house, call):
    await house.start()
    await house.press("hall", on=False)
    house.bus.astray[call] = 2 if call == "wake" else 0
    press = asyncio.create_task(house.press("hall"))
    await asyncio.sleep(0)
    house.bus.astray["publish"] = 2 if call == "publish" else 0
    await press
    await asyncio.sleep(30)
    assert await house.story() == ["waiting", "lit"]
    assert await house.bus.count("EVENTS", "timer.>") == 1
    await asyncio.sleep(600)
    assert await house.story() == ["waiting", "lit", "dark"]


@pytest.mark.parametrize("answer", ["ack", "reject"])
async def test_an_answer_that_goes_astray_costs_nothing_but_a_repetition(house, monkeypatch, answer):
    once = [Unavailable("astray")]
    real = getattr(DeliveredMessage, answer)

    async def astray(self, *reason):
        if once:
            raise once.pop()
        await real(self, *reason)

    monkeypatch.setattr(DeliveredMessage, answer, astray)
    task = await house.start()
    if answer == "reject":
        await house.bus.publish(Message("observed.press.acme.attic", b"{"))
    await house.press("hall")
    await house.press("hall", on=False)
    await asyncio.sleep(60)
    assert not task.done()
    assert await house.story() == ["waiting", "lit", "dark"]
    (consumer,) = [lane.consumer for lane in house.bus._memory.lanes.values() if lane.consumer.stream == Stream.LEVELS]
    assert await house.bus.unanswered(consumer) == 0


async def test_what_cannot_be_decoded_is_a_dead_letter_with_its_reason_and_the_next_goes_on(house):
    await house.start()
    for subject, data in (
        ("observed.press.acme.hall", b'{"uid": 5}'),
        ("observed.press.acme.hall", b"{"),
        ("observed.press.acme.hall", b'{"uid": "\xff"}'),
        ("observed.press.acme._FF", b'{"uid": 6}'),
        ("due.lamp.acme._FF", b""),
        ("due.lamp", b""),
    ):
        await house.bus.publish(Message(subject, data))
        await asyncio.sleep(0.01)
    await house.press("hall")
    assert await house.story() == ["waiting", "lit"]
    letters = await house.bus.read("DLQ", "dlq.LEVELS.lamps-levels")
    assert [stored.headers[SEQUENCE] for stored in letters] == ["1", "2", "3", "4"]
    assert letters[0].headers[REASON].startswith("observed.press.acme.hall #1: Expected `str`, got `int`")


async def test_a_state_of_ours_that_cannot_be_read_stops_no_other_entity(house):
    await house.bus.publish(Message("lamp.lit.acme.hall", b"{"))
    await house.bus.publish(Message("lamp.broken.acme.cellar", b"{}"))
    task = await house.start()
    await house.press("hall")
    await house.press("attic")
    assert await house.story("attic") == ["waiting", "lit"]
    assert dict(house.meters.counts(UNDECODABLE)) == {"lamp": 2}
    await asyncio.sleep(600)
    assert not task.done()
    assert await house.story("hall") == ["lit"]
    assert await house.bus.count("DLQ", ">") == 1


async def test_each_transition_is_counted_with_whence_it_came_and_how_long_it_stood_there(house):
    await house.start()
    await house.press("hall")
    await asyncio.sleep(601)
    assert dict(house.meters.counts(TRANSITIONS)) == {"lamp..waiting": 1, "lamp.waiting.lit": 1, "lamp.lit.dark": 1}
    stood = {label: round(times.sum) for name, label, times in house.meters.times() if name == DWELT}
    assert stood == {"lamp.waiting": 0, "lamp.lit": 600}


async def test_what_is_heard_is_timed_from_when_it_was_stored(house):
    house.takes = 2.0
    await house.start()
    await house.press("hall")
    await asyncio.sleep(5)
    stood = {name: round(times.sum) for name, label, times in house.meters.times() if label.startswith("observed.")}
    assert (stood[LAG], stood[SETTLED]) == (0, 2)


async def test_a_restart_writes_nothing(house):
    first = await house.start()
    for number in range(10):
        await house.press(f"lamp{number}", uid=f"l{number}", wait=0)
    await asyncio.sleep(1)
    await house.stop(first)
    before = [await house.bus.read(stream, ">") for stream in ("EVENTS", "LEVELS", "DLQ")]
    done = len(house.connects)
    await house.start()
    await asyncio.sleep(1)
    assert [await house.bus.read(stream, ">") for stream in ("EVENTS", "LEVELS", "DLQ")] == before
    assert len(house.connects) == done


async def test_what_was_not_done_when_it_died_is_done_at_boot(house):
    house.answers = [TryLater("no current", 1000.0)]
    first = await house.start()
    await house.press("hall")
    await house.stop(first)
    assert await house.story() == ["waiting"]
    await house.start()
    assert await house.story() == ["waiting", "lit"]


async def test_who_has_left_does_nothing_any_more(house):
    house.answers = [TryLater("no current", 10.0)]
    first = await house.start()
    await house.press("hall")
    await house.stop(first)
    await asyncio.sleep(60)
    assert len(house.connects) == 1


async def test_what_is_put_off_while_leaving_is_left_to_the_next_one(house):
    house.answers = [TryLater("no current", 10.0)]
    house.takes = 1.0
    first = await house.start()
    await house.press("hall", wait=0)
    await house.connecting()
    await house.stop(first)
    await asyncio.sleep(60)
    assert (len(house.connects), await house.story()) == (1, ["waiting"])


async def test_what_has_begun_is_finished_and_answered_before_leaving(house):
    house.takes = 1.0
    first = await house.start()
    await house.press("hall", wait=0)
    await house.connecting()
    await house.stop(first)
    assert await house.story() == ["waiting", "lit"]
    (consumer,) = [lane.consumer for lane in house.bus._memory.lanes.values() if lane.consumer.stream == Stream.LEVELS]
    assert await house.bus.unanswered(consumer) == 0
