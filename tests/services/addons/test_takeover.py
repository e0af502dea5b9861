"""Holds the cases of take-over: by deletion of the owner, by a change of the cluster's label, and by priority."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from tests.services.addons.fleet import fleet, of_maps

pytestmark = pytest.mark.looptime


@pytest.fixture
async def clusters():
    async with fleet() as made:
        await made.found("train-a", team="a")
        yield made


@asynccontextmanager
async def unbroken(clusters):
    """Fails if the workload is absent for a moment."""
    watching = asyncio.create_task(clusters.never_absent("train-a", "web"))
    await asyncio.sleep(1)
    yield
    assert not watching.done(), watching.exception()
    watching.cancel()


async def web(clusters):
    seen = await clusters.get("train-a", "web")
    meta = seen["metadata"]
    return seen["data"]["size"], (meta["uid"], meta["creationTimestamp"])


async def size_becomes(clusters, size):
    async def look():
        return (await web(clusters))[0] == size

    await clusters.until(look, 600)


async def test_the_second_profile_says_whose_it_is_and_takes_over_when_the_first_goes_without_a_gap(clusters):
    await clusters.profile("one", of_maps("web", {"web": "1"}))
    await clusters.is_now("train-a", "one.web", "applied")
    await clusters.profile("two", of_maps("web", {"web": "2"}))
    await clusters.says("train-a", "two.web", "ConfigMap web belongs to the add-on one.web")
    _, before = await web(clusters)
    async with unbroken(clusters):
        await clusters.drop("one")
        async with asyncio.timeout(5):
            await clusters.is_now("train-a", "one.web", "withdrawn")
            await clusters.is_now("train-a", "two.web", "applied")
    assert await web(clusters) == ("2", before)


async def test_a_cluster_whose_label_changes_from_one_profile_to_another_keeps_its_workload(clusters):
    for team, size in (("a", "1"), ("b", "2")):
        await clusters.profile(f"of-{team}", of_maps("web", {"web": size}), clusters={"matchLabels": {"team": team}})
    await clusters.is_now("train-a", "of-a.web", "applied")
    _, before = await web(clusters)
    async with unbroken(clusters):
        await clusters.say(clusters.ready("train-a", team="b"))
        await clusters.is_now("train-a", "of-b.web", "applied")
        await clusters.is_now("train-a", "of-a.web", "withdrawn")
    assert await web(clusters) == ("2", before)


async def test_a_lower_priority_number_takes_over_and_a_higher_one_gives_back(clusters):
    await clusters.profile("one", of_maps("web", {"web": "1"}), priority=80)
    await clusters.is_now("train-a", "one.web", "applied")
    await clusters.profile("two", of_maps("web", {"web": "2"}), priority=100)
    await clusters.says("train-a", "two.web", "its priority is 80, and that of two.web 100")
    _, before = await web(clusters)
    async with unbroken(clusters):
        await clusters.profile("two", of_maps("web", {"web": "2"}), priority=50)
        await size_becomes(clusters, "2")
        await clusters.says("train-a", "one.web", "its priority is 50, and that of one.web 80")
        await clusters.profile("two", of_maps("web", {"web": "2"}), priority=100)
        await size_becomes(clusters, "1")
        await clusters.says("train-a", "two.web", "its priority is 80, and that of two.web 100")
    assert await web(clusters) == ("1", before)
