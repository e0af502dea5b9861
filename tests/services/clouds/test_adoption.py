"""What others made gets our marks once and loses them again, and nothing else of it is ever changed."""

from contextlib import suppress

import msgspec
import pytest

from events.errors import Denied, NotFound, TryLater
from events.kube.client import Response
from events.kube.resources import CLUSTERCLASSES, CLUSTERDEPLOYMENTS, CLUSTERS
from schemas.placement import Attempt, Placement
from schemas.wish import Adopt, OnRelease
from services.clouds.adoption import adopt, release_adopted
from services.clouds.capi import Capi
from services.clouds.k0rdent import K0rdent
from tests.samples import LOT, cluster_class

UID = "u1.1"
ATTEMPT = Attempt(number=1, placement=Placement(cloud="aws", region="r", lots=(LOT,)), adopts="theirs")
MARKS = {"alate.dev/cluster": "train-a", "alate.dev/uid": UID, "alate.dev/attempt": "1"}
LABELS = {"team": "b"}
CONFIG = {"region": "r", "workersNumber": 2, "worker": {"instanceType": "x8"}}
POOLS = [
    {"class": "default", "name": name, "replicas": 2, "metadata": {"labels": {"of": "theirs"}}}
    for name in ("workers", "more")
]


@pytest.fixture
async def theirs(server):
    """Somebody's ClusterDeployment, as it is now."""
    spec = {"template": "aws-standalone-cp-1-0-43", "credential": "aws-credential", "config": CONFIG}
    await server.create(CLUSTERDEPLOYMENTS, named(spec), manager="person")

    async def seen():
        return await server.get(CLUSTERDEPLOYMENTS, "theirs", "default")

    return seen


def named(spec):
    return {"metadata": {"name": "theirs", "namespace": "default", "labels": LABELS}, "spec": spec}


def adopting(wish, on_release=OnRelease.KEEP):
    need = msgspec.structs.replace(wish.need, adopt=Adopt(name="theirs", on_release=on_release))
    return msgspec.structs.replace(wish, need=need)


async def test_taken_in_twice_is_taken_in_once_and_handed_back_it_is_as_it_was(server, wish, theirs):
    before = await theirs()
    for _ in range(2):
        await K0rdent(server).adopt(adopting(wish), ATTEMPT, UID)
    marked = await theirs()
    assert marked["metadata"]["labels"] == LABELS | MARKS
    assert "ownerReferences" not in marked["metadata"]
    assert server.transport.asked.count("PATCH theirs") == 1
    await K0rdent(server).release(adopting(wish), ATTEMPT)
    with pytest.raises(NotFound):
        await K0rdent(server).release(adopting(wish), ATTEMPT)
    after = await theirs()
    assert (after["metadata"]["labels"], after["spec"]) == (LABELS, before["spec"])


@pytest.mark.parametrize("other", [{"uid": "u2.1"}, {"name": "late"}], ids=["incarnation", "cluster"])
async def test_what_bears_the_marks_of_another_is_refused_and_not_let_go(server, wish, theirs, other):
    await adopt(server, CLUSTERDEPLOYMENTS, wish, ATTEMPT, UID)
    late = msgspec.structs.replace(wish, cluster="late") if "name" in other else wish
    with pytest.raises(Denied, match="ClusterDeployment theirs is adopted already, as train-a"):
        await adopt(server, CLUSTERDEPLOYMENTS, late, ATTEMPT, other.get("uid", UID))
    with pytest.raises(NotFound, match="bears no mark"):
        await release_adopted(server, CLUSTERDEPLOYMENTS, wish, msgspec.structs.replace(ATTEMPT, number=2))
    assert (await theirs())["metadata"]["labels"] == LABELS | MARKS


async def test_of_two_who_find_it_free_one_is_told_to_look_again(server, wish, theirs):
    free = Response(200, {}, msgspec.json.encode(await theirs()))
    await adopt(server, CLUSTERDEPLOYMENTS, wish, ATTEMPT, UID)
    server.transport.instead["GET"] = free
    with pytest.raises(TryLater, match="has just been changed"):
        await adopt(server, CLUSTERDEPLOYMENTS, wish, ATTEMPT, "u2.1")
    server.transport.instead.clear()
    assert (await theirs())["metadata"]["labels"] == LABELS | MARKS


async def test_what_is_not_there_is_not_made(server, wish):
    with pytest.raises(NotFound, match="there is no ClusterDeployment theirs in namespace default"):
        await K0rdent(server).adopt(adopting(wish), ATTEMPT, UID)
    assert (await server.list(CLUSTERDEPLOYMENTS, "default")).items == ()


async def test_it_is_deleted_where_that_is_asked_for_if_it_still_is_ours(server, wish, theirs):
    await hand_back_all(server, adopting(wish, OnRelease.DELETE))
    assert (await theirs())["metadata"]["labels"] == LABELS
    await adopt(server, CLUSTERDEPLOYMENTS, wish, ATTEMPT, UID)
    await hand_back_all(server, adopting(wish, OnRelease.DELETE))
    assert (await server.list(CLUSTERDEPLOYMENTS, "default")).items == ()


@pytest.mark.parametrize("which", ["another of theirs", "one that came to nothing"])
async def test_the_word_that_one_shall_be_deleted_is_said_of_that_very_one(server, wish, theirs, which):
    await adopt(server, CLUSTERDEPLOYMENTS, wish, ATTEMPT, UID)
    ending, tried = adopting(wish, OnRelease.DELETE), msgspec.structs.replace(ATTEMPT, reason="NeverReady")
    if which == "another of theirs":
        others = msgspec.structs.replace(ending.need.adopt, name="others")
        need = msgspec.structs.replace(ending.need, adopt=others)
        ending, tried = msgspec.structs.replace(ending, need=need), ATTEMPT
    await release_adopted(server, CLUSTERDEPLOYMENTS, ending, tried)
    assert (await theirs())["metadata"]["labels"] == LABELS


async def hand_back_all(server, wish):
    """Until nothing is left to hand back."""
    with suppress(NotFound):
        for _ in range(3):
            await release_adopted(server, CLUSTERDEPLOYMENTS, wish, ATTEMPT)
        raise AssertionError("it is still there")


async def test_a_deployment_is_resized_in_its_number_of_workers_alone(server, wish, theirs):
    await adopt(server, CLUSTERDEPLOYMENTS, wish, ATTEMPT, UID)
    await K0rdent(server).resize(wish, larger(5), UID)
    assert (await theirs())["spec"]["config"] == CONFIG | {"workersNumber": 5}


def larger(nodes):
    placement = msgspec.structs.replace(ATTEMPT.placement, lots=(msgspec.structs.replace(LOT, nodes=nodes),))
    return msgspec.structs.replace(ATTEMPT, placement=placement)


async def test_a_topology_is_resized_in_our_pools_replicas_alone(server, wish):
    await server.create(CLUSTERCLASSES, cluster_class())
    topology = {"classRef": {"name": "gpus"}, "version": "v1.34.0", "workers": {"machineDeployments": POOLS}}
    await server.create(CLUSTERS, named({"topology": topology}), manager="person")
    await Capi(server).adopt(wish, ATTEMPT, UID)
    await Capi(server).resize(wish, larger(5), UID)
    after = (await server.get(CLUSTERS, "theirs", "default"))["spec"]["topology"]
    assert after["workers"]["machineDeployments"] == [POOLS[0] | {"replicas": 5}, POOLS[1]]
    with pytest.raises(Denied, match="is not ours"):
        await Capi(server).resize(wish, larger(6), "u2.1")


async def test_a_cluster_without_a_topology_keeps_its_size(server, wish):
    await server.create(CLUSTERS, named({}), manager="person")
    await Capi(server).adopt(wish, ATTEMPT, UID)
    with pytest.raises(Denied, match="set it there"):
        await Capi(server).resize(wish, larger(5), UID)
