"""One sleeper wakes everybody in time, once."""

import asyncio
from datetime import timedelta

import pytest

from services.sandbox.clouds.alarm import Alarm

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
