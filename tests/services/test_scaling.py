"""A number of nodes is written where it was seen and nowhere else, and what is not there is told by name."""

import pytest

from events.faults import Denied
from events.kinds import COLONIES
from services.scaling import MANAGER, NoSuchPool, hibernating, scaling
from tests.services.clouds.conftest import server

__all__ = ["server"]


def colony(*clusters):
    pools = [{"name": name, "accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 1} for name in ("cpu", "gpu")]
    return {
        "metadata": {"name": "train", "namespace": "default"},
        "spec": {"clusters": [{"name": name, "pools": pools} for name in clusters]},
    }


def sizes(shown):
    return {
        f"{cluster['name']}/{pool['name']}": pool["nodes"]
        for cluster in shown["spec"]["clusters"]
        for pool in cluster["pools"]
    }


async def write(server, patch):
    return await server.patch(COLONIES, "train", "default", patch, kind="json", manager=MANAGER)


async def test_only_the_pools_that_are_named_get_another_size(server):
    made = await server.create(COLONIES, colony("a", "b"))
    shown = await write(server, scaling(made, "b", {"gpu": 3}))
    assert sizes(shown) == {"a/cpu": 1, "a/gpu": 1, "b/cpu": 1, "b/gpu": 3}


async def test_only_the_cluster_that_is_named_hibernates_until_it_is_woken(server):
    made = await server.create(COLONIES, colony("a", "b"))
    asleep = await write(server, hibernating(made, "b", hibernate=True))
    assert [each.get("hibernate", False) for each in asleep["spec"]["clusters"]] == [False, True]
    awake = await write(server, hibernating(asleep, "b", hibernate=False))
    assert [each.get("hibernate", False) for each in awake["spec"]["clusters"]] == [False, False]


async def test_one_that_has_moved_since_it_was_seen_is_left_alone(server):
    made = await server.create(COLONIES, colony("a", "b"))
    patch = scaling(made, "b", {"gpu": 3})
    await server.patch(COLONIES, "train", "default", {"spec": colony("b", "a")["spec"]})
    with pytest.raises(Denied):
        await write(server, patch)


async def test_whoever_applies_the_colony_takes_the_number_over_again(server):
    made = await server.apply(COLONIES, colony("a"), manager="alate-cli")
    await write(server, scaling(made, "a", {"gpu": 3}))
    assert sizes(await server.apply(COLONIES, colony("a"), manager="alate-cli"))["a/gpu"] == 1


@pytest.mark.parametrize(
    ("cluster", "pool", "sentence"),
    [
        ("c", "gpu", "Colony train has no cluster c: it has a, b"),
        ("a", "tpu", "cluster a has no pool tpu: it has cpu, gpu"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(cluster, pool, sentence):
    with pytest.raises(NoSuchPool, match=sentence):
        scaling(colony("a", "b"), cluster, {pool: 3})
