"""A restart writes nothing to any cluster, and follows all of them again."""

import asyncio

import pytest

from events.kube.resources import CONFIGMAPS
from tests.services.addons.fleet import config_map, fleet

pytestmark = pytest.mark.looptime

NAMES = tuple(f"c{number}-gpu" for number in range(50))
ADDONS = tuple(f"a{number}" for number in range(5))


async def test_a_restart_with_fifty_clusters_of_five_addons_writes_nothing_to_any_of_them():
    async with fleet() as made:
        for name in NAMES:
            await made.found(name)
        await made.profile("base", *({"name": each, "manifests": config_map(each)} for each in ADDONS))
        for name in NAMES:
            await made.has(name, *ADDONS)
        await asyncio.sleep(60)
        before = made.writes
        assert before > 2 * len(NAMES) * len(ADDONS), "objects and their records"
        await made.stop()
        await made.start()
        await asyncio.sleep(600)
        assert made.writes == before
        await made.clusters[NAMES[-1]].delete(CONFIGMAPS, ADDONS[0], "default")
        await made.has(NAMES[-1], *ADDONS)
