"""A silence is told once it has lasted, however often it is complained of meanwhile."""

import asyncio

import pytest

from events.kube.resources import NODES, PODS
from services.inventory.watch.outages import Outages

pytestmark = [pytest.mark.looptime]


@pytest.fixture
def told() -> list:
    return []


@pytest.fixture
async def silences(told):
    made = Outages(lambda *each: told.append((each, asyncio.get_running_loop().time())))
    yield made
    made.close()


async def test_a_silence_lasts_from_its_first_complaint_on(silences, told):
    silences.begin(NODES, "refused", 10.0)
    await asyncio.sleep(6)
    silences.begin(NODES, "timed out", 10.0)
    assert (NODES in silences, dict(silences.lasting)) == (True, {})
    await asyncio.sleep(5)
    assert told == [((NODES, "refused"), pytest.approx(10.0))]
    assert dict(silences.lasting) == {NODES: "refused"}


async def test_one_that_ends_in_time_is_never_told(silences, told):
    silences.begin(NODES, "refused", 10.0)
    await asyncio.sleep(9)
    silences.end(NODES)
    await asyncio.sleep(100)
    assert (told, bool(silences)) == ([], False)


async def test_who_answers_and_does_not_let_us_in_is_told_apart_from_who_cannot_be_heard(silences):
    silences.begin(NODES, "401", 10.0, refused=True)
    silences.begin(PODS, "timed out", 10.0)
    assert silences.refusals == ("401",)
    silences.begin(NODES, "timed out", 10.0)
    assert silences.refusals == ()
    silences.begin(PODS, "403", 10.0, refused=True)
    silences.end(PODS)
    assert silences.refusals == ()


async def test_each_source_is_silent_by_itself(silences, told):
    silences.begin(NODES, "refused", 10.0)
    silences.begin(PODS, "refused", 20.0)
    await asyncio.sleep(15)
    silences.end(NODES)
    assert (NODES in silences, PODS in silences, dict(silences.lasting)) == (False, True, {})
