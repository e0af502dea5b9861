"""A cluster that is lent is found by its Credential, suits what was bought, and is one one's alone."""

import msgspec
import pytest

from events.errors import Denied, NoCapacity
from events.kube.resources import CLUSTERDEPLOYMENTS, CREDENTIALS
from schemas.placement import Attempt, Placement
from schemas.wish import Need, PoolTaint
from services.clouds.k0rdent import K0rdent
from services.sandbox.seeds.plant import plant
from tests.samples import LOT, POOL

UID = "u1.1"
ATTEMPT = Attempt(number=1, placement=Placement(cloud="basement", region="r", lots=(LOT,)))
IDENTITY = {"apiVersion": "v1", "kind": "Secret", "name": "basement-kubeconfig", "namespace": "default"}


def credential(text=f"pool: {LOT.instance}", **more):
    notes = {"labels": {"alate.dev/cloud": "basement"}, "annotations": {"alate.dev/config": text}}
    meta = {"name": "basement", "namespace": "default"} | notes
    return {"metadata": meta, "spec": {"identityRef": IDENTITY}, "status": {"ready": True}} | more


async def lent(server, text=f"pool: {LOT.instance}", **more):
    await plant(server, [(CREDENTIALS, credential(text, **more))])


async def made(server, name="train-a-1"):
    return (await server.get(CLUSTERDEPLOYMENTS, name, "default"))["spec"]


def asking(wish, **what):
    return msgspec.structs.replace(wish, need=Need(pools=(msgspec.structs.replace(POOL, **what),)))


async def test_it_is_within_reach_as_a_cloud_of_its_own_without_spot(server, wish):
    await lent(server)
    assert (await K0rdent(server).reach(wish))["basement"] is False


async def test_a_secret_of_which_nothing_is_said_is_no_cluster(server, wish):
    await lent(server, "project: acme")
    assert "basement" not in await K0rdent(server).reach(wish)


async def test_without_a_template_for_such_it_is_not_within_reach(server, wish):
    await lent(server)
    named = msgspec.structs.replace(wish, need=msgspec.structs.replace(wish.need, template="aws-standalone-cp-1-0-43"))
    assert list(await K0rdent(server).reach(named)) == ["aws"]


async def test_it_begins_once_it_is_claimed_and_said_again_changes_nothing(server, wish):
    await lent(server, f"pool: {LOT.instance}\nconsecutiveFailureThreshold: 5")
    for _ in range(2):
        await K0rdent(server).launch(wish, ATTEMPT, UID)
        spec = await made(server)
        assert (spec["dryRun"], spec["cleanupOnDeletion"], spec["credential"]) == (False, False, "basement")
        notes = {"alate.dev/instance": LOT.instance}
        assert spec["config"] == {"consecutiveFailureThreshold": 5, "clusterAnnotations": notes}


async def test_of_two_who_want_it_the_second_is_told_that_it_is_taken_and_k0rdent_nothing(server, wish):
    await lent(server)
    await K0rdent(server).launch(wish, ATTEMPT, UID)
    other = msgspec.structs.replace(wish, cluster="b")
    with pytest.raises(Denied, match="default/basement-kubeconfig opens is lent to another") as denied:
        await K0rdent(server).launch(other, ATTEMPT, "u2.1")
    assert denied.value.reason == "Taken"
    assert (await made(server, "train-b-1"))["dryRun"] is True


@pytest.mark.parametrize(
    ("pool", "what", "refusal"),
    [
        ("other", {}, (NoCapacity, "is offered as other, not as p5.48xlarge")),
        (LOT.instance, {"labels": (("team", "blue"),)}, (Denied, "its nodes get no labels and no taints")),
        (LOT.instance, {"taints": (PoolTaint(key="gpu"),)}, (Denied, "its nodes get no labels and no taints")),
    ],
    ids=["another machine", "labels", "taints"],
)
async def test_one_that_is_not_what_was_bought_is_left_alone(server, wish, pool, what, refusal):
    await lent(server, f"pool: {pool}")
    with pytest.raises(refusal[0], match=refusal[1]):
        await K0rdent(server).launch(asking(wish, **what), ATTEMPT, UID)
    assert (await made(server))["dryRun"] is True


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"pool: {LOT.instance}", "a cluster that is lent keeps its size: take it out of the Colony to release it"),
        (f"machines: [{{address: 10.0.0.1, pool: {LOT.instance}}}, {{address: 10.0.0.2, pool: {LOT.instance}}}]",
         "a cluster on machines of one's own keeps those it has: add another cluster"),
    ],
    ids=["lent", "own machines"],
)  # fmt: skip
async def test_what_stands_already_has_no_other_size_and_says_what_can_be_done(server, wish, text, why):
    await lent(server, text)
    await K0rdent(server).launch(wish, ATTEMPT, UID)
    before = await made(server)
    with pytest.raises(Denied, match=why):
        await K0rdent(server).resize(wish, ATTEMPT, UID)
    assert await made(server) == before
