"""NATS is killed again and again while Colonies come and go; in the end all that tell of them agree."""

import asyncio
import os
import random
from collections import Counter as Tally

import msgspec
import pytest

from events.bus import Unavailable
from events.faults import TryLater
from events.kinds import CLUSTERS, COLONIES, MACHINES
from events.tips import tips
from events.tombstone import standing
from schemas.inventory import ClusterSeen
from schemas.subjects import Key, key_of, names_of
from services.cli.demo import leftovers
from services.cli.demo.play import entities, insist
from tests.story.house import PAUSE, House, at_work

pytestmark = [pytest.mark.stack, pytest.mark.timeout(1800)]

KILLS = int(os.environ.get("ALATE_TEST_NATS_KILLS", "3"))
COLONIES_ASKED = int(os.environ.get("ALATE_TEST_NATS_COLONIES", "6"))
AT_ONCE = 10
"""Colonies that are on their way at the same time."""
SEED = int(os.environ.get("ALATE_TEST_NATS_SEED", "20"))
AGREED = 120.0
"""Seconds after the last kill in which all must agree."""
HELLO = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hello, namespace: default}\ndata: {from: alate}\n"
POOL = {"accelerator": "L4", "acceleratorsPerNode": 1, "nodes": 2}


async def sights(house: House) -> dict[str, set[str]]:
    """By who tells, the clusters that are there and all right."""
    colonies = (await house.kube.list(COLONIES, "default")).items
    states = await tips(house.bus, "EVENTS", "cluster.*.*.*")
    newest = {key_of(stored.subject): stored.subject.split(".")[1] for stored in states}  # in the stream's order
    seen = standing(await tips(house.bus, "LEVELS", "inventory.cluster.*.*"))
    nodes = Tally(names_of(each.subject)[3] for each in standing(await tips(house.bus, "LEVELS", "inventory.nodes.>")))
    return {
        "status": {f"{each['metadata']['name']}-a" for each in colonies if _ready(each)},
        "colonies": {f"{each['metadata']['name']}-a" for each in colonies},
        "states": {key.name for key, event in newest.items() if event == "ready"},
        "states that are not over": {key.name for key, event in newest.items() if event != "released"},
        "objects": {each["metadata"]["name"].rpartition("-")[0] for each in (await house.kube.list(CLUSTERS)).items},
        "inventory": {
            names_of(each.subject)[3]
            for each in seen
            if msgspec.json.decode(each.data, type=ClusterSeen).nodes == POOL["nodes"]
        }
        - {"management"},
        "nodes": {name for name, number in nodes.items() if number >= POOL["nodes"] and name != "management"},
    }


async def machines(house: House) -> tuple[int, int]:
    """How many are billed, and how many the API shows."""
    return leftovers.running(await leftovers.bills(house.kube)), len((await house.kube.list(MACHINES)).items)


def _ready(colony: dict) -> bool:
    return bool(colony.get("status", {}).get("ready") == "1/1")


def colony(number: int) -> dict:
    cluster = {"name": "a", "timeToLive": "24h", "pools": [POOL], "addons": [{"name": "hello", "manifests": HELLO}]}
    return {"metadata": {"name": f"c{number}", "namespace": "default"}, "spec": {"clusters": [cluster]}}


async def come(house: House, number: int, turns: asyncio.Semaphore, dice: random.Random) -> None:
    """Ask for one; two of three are let go again, somewhere on their way or once they are ready."""
    async with turns:
        await house.ask(colony(number))
        leaves = dice.random()
        if leaves < 1 / 3:
            await asyncio.sleep(dice.uniform(0.0, 4.0))
        else:
            await until_ready(house, number)
    if leaves < 2 / 3:
        await house.go(f"c{number}")


async def until_ready(house: House, number: int) -> None:
    async def ready() -> None:
        if not _ready(await house.kube.get(COLONIES, f"c{number}", "default")):
            raise TryLater("it is not ready", PAUSE)

    await insist(ready)


async def kill(house: House, times: int, dice: random.Random) -> None:
    """Kill NATS so often, each time at a random moment after it has come back."""
    for _ in range(times):
        await asyncio.sleep(dice.uniform(0.5, 5.0))
        assert house.stack.child("nats").kill()
        await asyncio.sleep(0.1)  # until it is noticed
        await house.stack.child("nats").until_ready(60)


async def agreed(house: House) -> dict[str, set[str]]:
    """What all tell alike, or what they tell when time is up."""
    end = asyncio.get_running_loop().time() + AGREED
    while True:
        late = asyncio.get_running_loop().time() > end
        try:
            told, (billed, shown) = await sights(house), await machines(house)
        except (Unavailable, TryLater):
            if late:
                raise
        else:
            if late or (all(each == told["colonies"] for each in told.values()) and billed == shown):
                assert billed == shown
                return told
        await asyncio.sleep(PAUSE)


async def test_nats_killed_at_random_while_colonies_come_and_go_leaves_all_in_agreement(tmp_path):
    dice, turns = random.Random(SEED), asyncio.Semaphore(AT_ONCE)  # noqa: S311 - a test's dice
    asked = range(COLONIES_ASKED)
    async with at_work(tmp_path) as house:
        async with asyncio.TaskGroup() as group:
            group.create_task(kill(house, KILLS, dice))
            for number in asked:
                group.create_task(come(house, number, turns, dice))
        told = await agreed(house)
        assert {
            who: clusters ^ told["colonies"] for who, clusters in told.items() if clusters != told["colonies"]
        } == {}
        assert told["colonies"]
        await asyncio.gather(*(house.go(f"c{number}") for number in asked))
        proof = await house.left(AGREED, set[Key]().union(*(entities(colony(number)) for number in asked)))
        assert not any(proof.leftovers.values()), proof.leftovers
        assert not proof.audit.duplicates
        assert house.stack.child("sandbox").deaths == 0
        assert house.stack.child("nats").deaths == KILLS
