"""A number of nodes is written where it was seen and nowhere else, and what is not there is told by name."""

from datetime import UTC, datetime, timedelta

import pytest

from events.errors import Denied
from events.kube.resources import COLONIES
from services.colony.edits import (
    MANAGER,
    NoSuchPool,
    WrongPhase,
    extending,
    hibernating,
    recreating,
    scaling,
    upgrading,
)
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


def test_what_hibernates_or_is_awake_already_is_not_changed():
    assert hibernating(colony("b"), "b", hibernate=False) == []
    asleep = colony("b")
    asleep["spec"]["clusters"][0]["hibernate"] = True
    assert hibernating(asleep, "b", hibernate=True) == []


def mortal(life="6h", **shown):
    made = colony("a", "b")
    made["spec"]["clusters"][1] |= {"timeToLive": life} if life else {}
    return made | {"status": {"clusters": [{"name": "b", "phase": "Ready", **shown}]}}


def lives(shown):
    return [each.get("timeToLive") for each in shown["spec"]["clusters"]]


async def test_only_the_cluster_that_is_named_lives_longer_and_never_shorter(server):
    made = await server.create(COLONIES, mortal())
    longer = await write(server, extending(made, "b", timedelta(hours=36)))
    assert lives(longer) == [None, "36h"]
    assert extending(longer, "b", timedelta(hours=36)) == extending(longer, "b", timedelta(hours=12)) == []


async def test_a_life_that_was_changed_since_it_was_seen_is_left_alone(server):
    made = await server.create(COLONIES, mortal())
    patch = extending(made, "b", timedelta(hours=12))
    await server.patch(COLONIES, "train", "default", {"spec": mortal("48h")["spec"]})
    with pytest.raises(Denied):
        await write(server, patch)
    assert lives(await server.get(COLONIES, "train", "default")) == [None, "48h"]


def test_what_lives_for_ever_lives_long_enough():
    assert extending(mortal(None), "b", timedelta(hours=1)) == []


@pytest.mark.parametrize("end", ["Draining", "Cleaning", "Releasing", "Verifying", "Stuck", "Gone"])
def test_what_is_on_its_way_out_would_be_founded_anew_so_it_is_refused(end):
    going = mortal(teardown={"phase": end})
    with pytest.raises(WrongPhase, match="train/b is being released: `alate recreate train/b`"):
        extending(going, "b", timedelta(hours=12))


CHANGES = {
    "scale": lambda seen: scaling(seen, "b", {"gpu": 3}),
    "hibernate": lambda seen: hibernating(seen, "b", hibernate=True),
    "wake": lambda seen: hibernating(seen, "b", hibernate=False),
    "upgrade": lambda seen: upgrading(seen, "b", "v1.35.1"),
    "extend": lambda seen: extending(seen, "b", timedelta(hours=12)),
    "extend what lives as long": lambda seen: extending(seen, "b", timedelta(seconds=1)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_to_what_is_over_is_refused_with_the_way_to_have_it_again(change):
    with pytest.raises(WrongPhase, match="train/b has ended: `alate recreate train/b` creates it again"):
        change(mortal(phase="Released"))


NOW = datetime(2026, 1, 1, 12, 0, 0, 5, tzinfo=UTC)


async def test_only_the_cluster_that_is_named_and_over_is_asked_for_again_each_time_later(server):
    made = await server.create(COLONIES, mortal())
    status = {"status": mortal(phase="Released")["status"]}
    over = await server.patch(COLONIES, "train", "default", status, subresource="status")
    assert made["spec"] == over["spec"]
    first = await write(server, recreating(over, "b", NOW))
    second = await write(server, recreating(first, "b", NOW - timedelta(days=1)))
    asked = [[each.get("askedAt") for each in shown["spec"]["clusters"]] for shown in (first, second)]
    assert asked == [[None, "2026-01-01T12:00:00Z"], [None, "2026-01-01T12:00:01Z"]]


def test_what_has_not_ended_is_not_asked_for_again():
    with pytest.raises(WrongPhase, match="train/b has not ended: there is nothing to do"):
        recreating(mortal(teardown={"phase": "Warned"}), "b", NOW)


@pytest.mark.parametrize("end", ["Armed", "Warned"])
def test_what_is_only_warned_can_still_live_longer(end):
    assert extending(mortal(teardown={"phase": end}), "b", timedelta(hours=12))


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


async def test_only_the_cluster_that_is_named_gets_another_version(server):
    made = await server.create(COLONIES, colony("a", "b"))
    for _ in range(2):
        shown = await write(server, upgrading(made, "b", "v1.35.1"))
    assert [each["kubernetesVersion"] for each in shown["spec"]["clusters"]] == ["v1.34.0", "v1.35.1"]


def test_the_version_of_a_cluster_that_is_not_there_is_told_by_name():
    with pytest.raises(NoSuchPool, match="Colony train has no cluster c: it has a, b"):
        upgrading(colony("a", "b"), "c", "v1.35.1")
