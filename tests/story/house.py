"""A running stack within the test's own process, and ways to look at it."""

import asyncio
from collections import Counter as Tally
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from events.bus import Bus, Unavailable
from events.errors import NotFound, TryLater
from events.kube.client import Kube
from events.kube.resources import CLUSTERS, COLONIES, MACHINES
from events.streams import standing, tips
from schemas.inventory import ClusterSeen
from schemas.subjects import Key, key_of, names_of
from services.cli.connection import joined, management, operator
from services.cli.demo import leftovers
from services.cli.demo.leftovers import Objects
from services.cli.demo.play import entities, retry_forever
from services.cli.demo.proof import Counter, Proof
from services.cli.up.stack import OPERATOR, running
from services.local.folder import Folder
from services.local.programs import Wiring
from services.local.supervisor import Supervisor

PAUSE = 0.5
AGREED = 120.0
"""Seconds after the last disturbance in which all must agree."""
HELLO = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hello, namespace: default}\ndata: {from: alate}\n"
POOL = {"accelerator": "L4", "acceleratorsPerNode": 1, "nodes": 2}


class House(NamedTuple):
    """The stack's programs, and the operator's ways in."""

    wiring: Wiring
    stack: Supervisor
    bus: Bus
    kube: Kube
    before: Objects

    async def ask(self, colony: dict) -> None:
        """Apply a Colony, however often it takes."""
        await retry_forever(lambda: self.kube.apply(COLONIES, colony, manager="test"))

    async def go(self, name: str) -> None:
        """Delete a Colony, and wait until it is gone."""

        async def ended() -> None:
            try:
                await self.kube.delete(COLONIES, name, "default")
            except NotFound:
                return
            raise TryLater("it is still there", PAUSE)

        await retry_forever(ended)

    async def left(self, within: float, expected: Iterable[Key] = ()) -> Proof:
        """What is left in the end; `expected` must have come and gone."""
        monitor = self.wiring.ports.monitor
        counter = Counter(self.bus, self.kube, self.wiring.management, monitor, self.before, frozenset(expected))
        return await counter.settled(within)


@asynccontextmanager
async def at_work(folder: Path) -> AsyncIterator[House]:
    """A stack in a folder, as long as the block lasts."""
    async with AsyncExitStack() as stack:
        wiring, programs = await stack.enter_async_context(running(Folder(folder), monitored=True))
        bus = await stack.enter_async_context(joined(wiring.bus, operator(wiring.key(OPERATOR)), 60.0))
        kube = await stack.enter_async_context(management(str(wiring.management)))
        yield House(wiring, programs, bus, kube, await leftovers.objects(kube))


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


async def until_ready(house: House, number: int) -> None:
    async def ready() -> None:
        if not _ready(await house.kube.get(COLONIES, f"c{number}", "default")):
            raise TryLater("it is not ready", PAUSE)

    await retry_forever(ready)


async def agreed(house: House) -> set[str]:
    """The clusters of which all tell alike; fails with what each tells otherwise when time is up."""
    end = asyncio.get_running_loop().time() + AGREED
    while True:
        late = asyncio.get_running_loop().time() > end
        try:
            told, (billed, shown) = await sights(house), await machines(house)
        except (Unavailable, TryLater):
            if late:
                raise
        else:
            asked = told["colonies"]
            differ = {who: clusters ^ asked for who, clusters in told.items() if clusters != asked}
            if late or (not differ and billed == shown):
                assert (differ, billed) == ({}, shown)
                return asked
        await asyncio.sleep(PAUSE)


async def ended(house: House, numbers: Iterable[int]) -> None:
    """Let these Colonies go; of all that came of them, nothing is left and nothing was said twice."""
    asked = tuple(numbers)
    await asyncio.gather(*(house.go(f"c{number}") for number in asked))
    proof = await house.left(AGREED, set[Key]().union(*(entities(colony(number)) for number in asked)))
    assert not any(proof.leftovers.values()), proof.leftovers
    assert not proof.audit.duplicates
