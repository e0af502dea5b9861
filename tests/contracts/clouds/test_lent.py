"""A cluster that stands elsewhere takes part in placement at its own price, is lent to one at a time, and stands on."""

import asyncio
from base64 import b64encode

import pytest

from events.kube.resources import (
    CLUSTERDEPLOYMENTS,
    CLUSTERS,
    CONFIGMAPS,
    CREDENTIALS,
    NAMESPACES,
    NODES,
    PODS,
    PVCS,
    SECRETS,
)
from schemas.cluster import Ready, Waiting
from services.sandbox.api.server.kubeconfig import kubeconfig
from tests.contracts.clouds.house import INSTANCE, House

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

PLACE = "elsewhere.basement"
SECRET = "basement-kubeconfig"  # noqa: S105 - a name
SIZE = 2
CREDENTIAL = {
    "metadata": {
        "name": "basement",
        "labels": {"alate.dev/cloud": "basement"},
        "annotations": {"alate.dev/config": f"pool: {INSTANCE}"},
    },
    "spec": {"identityRef": {"apiVersion": "v1", "kind": "Secret", "name": SECRET, "namespace": "default"}},
    "status": {"ready": True},
}
CLAIM = {
    "metadata": {"name": "data", "namespace": "default"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
POD = {
    "metadata": {"name": "theirs", "namespace": "default"},
    "spec": {
        "nodeName": "dgx-0",
        "containers": [{"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "1"}}}],
    },
}


@pytest.fixture
def house(sandbox):
    return House(sandbox, "k0rdent")


def node(number, gpus=8):
    amounts = {"cpu": "192", "memory": "2048Gi", "pods": "110", "nvidia.com/gpu": str(gpus)}
    labels = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.present": "true"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}
    return {
        "metadata": {"name": f"dgx-{number}", "labels": labels},
        "spec": {"providerID": f"dgx://{number}"},
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": [ready]},
    }


async def stands(house, gpus=8, told="", credential=CREDENTIAL):
    """A cluster of two machines in a basement, for nothing; gives the way in."""
    text = await house.sandbox.world.found(PLACE)
    inside = house.sandbox.world.kube(PLACE)
    for number in range(SIZE):
        await inside.create(NODES, node(number, gpus))
    await keep(house, told or text)
    await house.plant(CREDENTIALS, credential)
    await house.offer("cellar", 0.0, cloud="basement", limit=SIZE)
    return inside


async def keep(house, text):
    data = {"value": b64encode(text.encode()).decode()}
    await house.kube.create(SECRETS, {"metadata": {"name": SECRET, "namespace": "default"}, "data": data})


def where(state):
    return state.attempt.placement.cloud, state.attempt.placement.price_per_hour


async def test_a_cluster_goes_to_one_that_stands_while_that_is_free_and_to_a_cloud_when_not(house):
    async with house.at_work():
        await stands(house)
        await house.ask(nodes=SIZE)
        ready = await house.until(Ready)
        assert (where(ready), ready.kubeconfig) == (("basement", 0.0), SECRET)
        assert (await house.shown())["acceleratorsReady"] == 8 * SIZE
        assert not await house.sandbox.all(CLUSTERS)
        await house.ask(nodes=SIZE, name="other")
        assert where(await house.until(Ready, name="other"))[0] == "aws"


async def test_who_asks_another_back_end_for_it_is_told_with_which_it_is_reached(sandbox):
    house = House(sandbox, "capi")
    async with house.at_work():
        await stands(house)
        await house.ask(nodes=SIZE, clouds=["basement"])
        waiting = await house.until(Waiting)
        assert "on basement: basement is reached with backend: k0rdent; within reach are " in waiting.message


async def test_k0rdent_is_told_to_touch_nothing_in_it(house):
    async with house.at_work():
        await stands(house)
        await house.ask(nodes=SIZE)
        await house.until(Ready)
        (found,) = await house.sandbox.all(CLUSTERDEPLOYMENTS)
        spec = found["spec"]
        assert spec["template"].startswith("adopted-cluster-")
        assert (spec["dryRun"], spec["propagateCredentials"], spec["cleanupOnDeletion"]) == (False, False, False)
        assert spec["config"] == {"clusterAnnotations": {"alate.dev/instance": INSTANCE}}


async def test_it_is_lent_whole_and_to_the_next_one_as_soon_as_it_is_given_back(house):
    async with house.at_work():
        await stands(house)
        await house.ask(nodes=1)
        await house.until(Ready)
        await house.ask(nodes=1, name="other", clouds=["basement"])
        waiting = await house.until(Waiting, name="other")
        assert [attempt.reason for attempt in waiting.failed_attempts] == ["Taken"]
        await house.let_go()
        assert where(await house.until(Ready, name="other")) == ("basement", 0.0)
        await house.let_go("other")
        await house.gone("other")
        assert not [
            one for one in await house.sandbox.all(CONFIGMAPS) if one["metadata"]["name"].startswith("alate-cl")
        ]


async def test_nothing_of_it_is_destroyed_when_it_is_let_go_but_what_was_put_on_it(house):
    manifest = "apiVersion: v1\nkind: Namespace\nmetadata: {name: ours}\n"
    async with house.at_work(house.sandbox.inside()):
        inside = await stands(house)
        await inside.create(PVCS, CLAIM)
        await inside.create(PODS, POD)
        await house.ask(nodes=SIZE, addons=[{"name": "own", "manifests": manifest}])
        await house.until(Ready)
        async with asyncio.timeout(600):
            while not await spaces(inside, "ours"):  # noqa: ASYNC110 - virtual time
                await asyncio.sleep(1)
        await house.let_go()
        await house.gone()
        assert not await spaces(inside, "ours")
        assert not any(node["spec"].get("unschedulable") for node in (await inside.list(NODES)).items)
        assert len((await inside.list(NODES)).items) == SIZE
        assert [len((await inside.list(kind)).items) for kind in (PVCS, PODS)] == [1, 1]
        assert (await house.objects(), len(await house.sandbox.all(SECRETS))) == ((), 1)


async def spaces(inside, name):
    return [one for one in (await inside.list(NAMESPACES)).items if one["metadata"]["name"] == name]


async def test_a_kubeconfig_that_opens_nothing_is_a_refusal_of_that_cloud_alone(house):
    async with house.at_work():
        await stands(house, told="nonsense")
        await house.ask(nodes=SIZE)
        ready = await house.until(Ready)
        assert where(ready)[0] == "aws"
        (failed,) = ready.failed_attempts
        why = "it holds no mapping: expected clusters, contexts and users"
        told = f"the kubeconfig in Secret {SECRET} does not open its cluster: {why}"
        assert (failed.placement.cloud, failed.reason, failed.message) == ("basement", "Denied", told)
        await house.ask(nodes=SIZE, name="other")
        other = await house.until(Ready, name="other")
        assert (where(other)[0], other.failed_attempts) == ("aws", ())


async def test_one_that_lacks_accelerators_is_never_ready(house):
    async with house.at_work():
        await stands(house, gpus=7)
        await house.ask(nodes=SIZE)
        ready = await house.until(Ready)
        assert [(each.placement.cloud, each.reason) for each in ready.failed_attempts] == [("basement", "NeverReady")]
        assert where(ready)[0] == "aws"
        assert len((await house.sandbox.world.kube(PLACE).list(NODES)).items) == SIZE


async def test_one_that_does_not_answer_is_passed_over_when_its_time_is_up(house):
    async with house.at_work():
        await stands(house, told=kubeconfig("https://sandbox", "elsewhere.nowhere", ""))
        await house.ask(nodes=SIZE)
        ready = await house.until(Ready)
        assert [(each.placement.cloud, each.reason) for each in ready.failed_attempts] == [("basement", "NeverReady")]
        assert where(ready)[0] == "aws"


async def test_one_that_is_away_stays_what_it_was_and_is_given_back_all_the_same(house):
    async with house.at_work():
        await stands(house)
        await house.ask(nodes=SIZE)
        before = await house.until(Ready)
        await house.shut(SECRET)
        await asyncio.sleep(3600)
        assert await house.state() == before
        await house.let_go()
        await house.gone()
        assert await house.objects() == ()
        assert len((await house.sandbox.world.kube(PLACE).list(NODES)).items) == SIZE
