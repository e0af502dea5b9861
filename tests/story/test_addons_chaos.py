"""The add-on service, NATS and the clusters' API are taken away while a rollout reaches fifty clusters."""

import asyncio

import pytest

from events.kube.client import Kube
from events.kube.resources import CONFIGMAPS
from services.sandbox.api.server.local import LocalTransport
from tests.bench.addon_world import World, world

pytestmark = [pytest.mark.stack, pytest.mark.slow, pytest.mark.timeout(600)]
CLUSTERS = 50
ROLLOUT = {"maxInFlight": 5, "stages": [{"name": "first", "clusters": {"names": ["c0-gpu"]}}]}
OLD, NEW = "old", "new"


@pytest.fixture
async def fleet(tmp_path):
    async with world(tmp_path, CLUSTERS) as made:
        yield made


async def give(made: World, size: str) -> None:
    await made.profile_of("base", {"one": size, "two": size}, rollout=ROLLOUT)


async def contents(made: World) -> dict[str, tuple[str, ...]]:
    """What the ConfigMaps of add-ons hold, by cluster."""
    found = {}
    for place in made.names:
        kube = Kube(LocalTransport(made.api, place), random=lambda: 0.5)
        listed = (await kube.list(CONFIGMAPS, "default")).items
        found[place] = tuple(
            f"{each['metadata']['name']}={each['data']['size']}" for each in listed if "size" in each["data"]
        )
    return found


async def settled(made: World, size: str) -> None:
    wanted = dict.fromkeys(made.names, (f"one={size}", f"two={size}"))
    async with asyncio.timeout(300):
        while await contents(made) != wanted:  # noqa: ASYNC110 - other processes do it
            await asyncio.sleep(0.2)


async def kill_service(made: World) -> None:
    await made.kill()
    await made.start()


async def kill_nats(made: World) -> None:
    await made.nats.kill()
    await asyncio.sleep(1)
    await made.nats.start()


async def lose_the_clusters(made: World) -> None:
    """The API of every cluster, that of the management cluster too, refuses for a while."""
    made.api.leave()
    await asyncio.sleep(3)
    made.api.away = False


async def test_a_rollout_over_fifty_clusters_comes_to_the_same_end_whatever_is_killed(fleet):
    await give(fleet, OLD)
    await asyncio.gather(*map(fleet.ready, fleet.names))
    await settled(fleet, OLD)
    await give(fleet, NEW)
    for chaos in (kill_service, kill_nats, lose_the_clusters, kill_service, kill_nats):
        await asyncio.sleep(0.7)
        await chaos(fleet)
    await settled(fleet, NEW)
    assert {key: held for key, held in fleet.api.written.items() if held != [OLD, NEW]} == {}
    assert len(fleet.api.written) == 2 * CLUSTERS
