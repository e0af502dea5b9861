"""One sleeper wakes everybody in time, once."""

import asyncio
from datetime import timedelta

import pytest

from events.errors import Denied, TryLater
from services.sandbox.clouds.engine.alarm import RETRY, Alarm

pytestmark = pytest.mark.looptime


async def test_each_key_is_woken_once_at_its_earliest_time(now):
    start, woken = now(), []
    alarm = Alarm(now, lambda key: woken.append((key, round((now() - start).total_seconds(), 1))))
    task = asyncio.create_task(alarm.run())
    for key, seconds in (("a", 5), ("b", 3), ("a", 1), ("a", 4)):
        alarm.at(start + timedelta(seconds=seconds), key)
    await asyncio.sleep(2)
    alarm.after(0.5, "c")
    await asyncio.sleep(60)
    task.cancel()
    await asyncio.wait([task])
    assert woken == [("a", 1.0), ("c", 2.5), ("b", 3.0)]


@pytest.mark.parametrize(
    ("fault", "after"), [(Denied("no"), RETRY), (TryLater("soon", 7.0), 7.0), (TryLater("", 0), 0.1)]
)
async def test_what_was_refused_is_woken_when_its_fault_says_and_never_at_once(now, fault, after):
    start, woken = now(), []
    alarm = Alarm(now, lambda _: woken.append((now() - start).total_seconds()))
    task = asyncio.create_task(alarm.run())
    assert alarm.again(fault, "a") == after
    await asyncio.sleep(60)
    task.cancel()
    await asyncio.wait([task])
    assert woken == [pytest.approx(after, abs=0.01)]
