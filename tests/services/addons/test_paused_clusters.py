"""Holds the case of a paused cluster: nothing is written to it, and nothing is taken away, until it goes on."""

import asyncio

import pytest

from schemas.wish import AddonRef
from tests.services.addons.fleet import fleet, of_maps

pytestmark = pytest.mark.looptime
PAUSED = {"alate.dev/paused": "true"}


async def test_a_paused_cluster_gets_nothing_until_it_goes_on():
    async with fleet() as made:
        await made.found("train-a", **PAUSED)
        await made.profile("base", of_maps("web", {"web": "1"}))
        await asyncio.sleep(300)
        await made.has("train-a")
        await made.say(made.ready("train-a"))
        await made.has("train-a", "web")


async def test_of_a_paused_cluster_nothing_is_taken_away_or_corrected_until_it_goes_on():
    async with fleet() as made:
        await made.found("train-a")
        await made.profile("base", of_maps("web", {"web": "1", "more": "1"}))
        await made.has("train-a", "web", "more")
        await made.say(made.ready("train-a", **PAUSED))
        await asyncio.sleep(1)
        await made.drop("base")
        before = made.writes
        await asyncio.sleep(300)
        assert made.writes == before
        await made.say(made.ready("train-a"))
        await made.has("train-a")


async def test_a_paused_cluster_gets_no_addon_of_its_colony_either():
    async with fleet() as made:
        await made.found("train-a", addons=(AddonRef("jobs", "d1"),), **PAUSED)
        await made.says("train-a", "jobs", "its cluster is paused")
