"""Durable timers: they fire once, never early, and a transition drops its own in the same stroke."""

import asyncio
from contextlib import aclosing
from datetime import UTC, datetime, timedelta

import pytest

from events.bus import SCHEDULE, CaughtUp, Conflict, Consumer, Expect, Message, Timer
from events.errors import Denied

HISTORY = "cluster.*.t.x"


def soon(seconds: float, name: str = "x") -> Timer:
    at = datetime.now(UTC) + timedelta(seconds=seconds)
    return Timer(f"timer.cluster.t.{name}", f"due.cluster.t.{name}", at)


async def due_until(bus, name: str) -> list:
    """Everything that fired, up to the timer of that name."""
    fired = []
    async with aclosing(bus.feed("EVENTS", "due.>")) as feed, asyncio.timeout(10):
        async for given in feed:
            if isinstance(given, CaughtUp):
                continue
            fired.append(given)
            if given.subject.endswith(f".{name}"):
                return fired
    raise AssertionError("the feed ended")


async def test_a_timer_fires_on_its_target_once_and_never_early(bus):
    timer = soon(0.1)
    await bus.wake(timer)
    assert await bus.count("EVENTS", "timer.>") == 1
    (fired,) = await due_until(bus, "x")
    assert (fired.subject, fired.data) == (timer.target, b"")
    assert fired.time >= timer.at
    await bus.wake(soon(0.05, "later"))
    assert len(await due_until(bus, "later")) == 2
    assert await bus.count("EVENTS", "timer.>") == 0


async def test_a_timer_that_is_set_tells_its_time(bus):
    timer = soon(30)
    await bus.wake(timer)
    kept = await bus.last("EVENTS", timer.subject)
    assert (kept.subject, kept.data) == (timer.subject, b"")
    assert datetime.fromisoformat(kept.headers[SCHEDULE].removeprefix("@at ")) == timer.at


async def test_what_fired_is_no_timer(bus):
    await bus.wake(soon(-1))
    (fired,) = await due_until(bus, "x")
    assert fired.headers == {}


async def test_a_timer_in_the_past_fires_at_once(bus):
    await bus.wake(soon(-3600))
    assert len(await due_until(bus, "x")) == 1


async def test_a_second_timer_replaces_the_first(bus):
    await bus.wake(soon(0.05))
    later = soon(0.4)
    await bus.wake(later)
    (fired,) = await due_until(bus, "x")
    assert fired.time >= later.at


async def test_a_transition_cancels_its_timer_in_the_same_publish(bus):
    await bus.wake(soon(0.1))
    await bus.publish(Message("cluster.ready.t.x", b""), expect=Expect(HISTORY, 0), cancels="timer.cluster.t.x")
    assert await bus.count("EVENTS", "timer.>") == 0
    await bus.wake(soon(0.2, "later"))
    assert [fired.subject for fired in await due_until(bus, "later")] == ["due.cluster.t.later"]


async def test_cancelling_a_timer_that_is_not_there_harms_nothing(bus):
    await bus.wake(soon(30, "other"))
    message = Message("cluster.ready.t.x", b"1", {"ce-id": "1"})
    assert await bus.publish(message, expect=Expect(HISTORY, 0), cancels="timer.cluster.t.x") == 2
    kept = await bus.last("EVENTS", HISTORY)
    assert (kept.data, kept.headers) == (b"1", {"ce-id": "1"})
    assert await bus.count("EVENTS", "timer.>") == 1


async def test_who_loses_the_swap_leaves_the_timer_alone(bus):
    await bus.publish(Message("cluster.ready.t.x", b""))
    await bus.wake(soon(0.1))
    with pytest.raises(Conflict):
        await bus.publish(Message("cluster.gone.t.x", b""), expect=Expect(HISTORY, 0), cancels="timer.cluster.t.x")
    assert len(await due_until(bus, "x")) == 1


async def test_a_repeat_whose_ack_was_lost_leaves_the_next_timer_alone(bus):
    message = Message("cluster.ready.t.x", b"")
    swap = {"expect": Expect(HISTORY, 0), "cancels": "timer.cluster.t.x", "msg_id": "a"}
    await bus.publish(message, **swap)
    await bus.wake(soon(0.1))
    await bus.publish(message, **swap)
    assert len(await due_until(bus, "x")) == 1


async def test_a_purged_timer_does_not_fire(bus):
    await bus.wake(soon(0.1))
    assert await bus.purge("EVENTS", "timer.cluster.t.x") == 1
    await bus.wake(soon(0.2, "later"))
    assert [fired.subject for fired in await due_until(bus, "later")] == ["due.cluster.t.later"]


async def test_a_consumer_hears_of_what_is_due(bus):
    await bus.wake(soon(0.05))
    async with aclosing(bus.consume(Consumer("c", "EVENTS", ("due.>",)))) as deliveries, asyncio.timeout(10):
        assert (await anext(deliveries)).stored.subject == "due.cluster.t.x"


async def test_a_timer_where_none_are_held_is_denied(bus):
    with pytest.raises(Denied):
        await bus.wake(Timer("observed.t", "observed.due", datetime.now(UTC)))
