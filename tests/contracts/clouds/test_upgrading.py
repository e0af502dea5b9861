"""A cluster that runs gets another version of Kubernetes, node by node, and is ready all the while."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from events.errors import Denied
from events.kube.resources import COLONIES, NODES
from schemas.cluster import Hibernated, Launching, Ready
from services.sandbox.clouds.model.annotations import CONTROL_PLANE
from tests.contracts.clouds.house import full

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

FOUNDED = ["Pending", "Launching", "Provisioned", "Ready"]
OLD, NEW = "v1.34.0", "v1.35.0"


@asynccontextmanager
async def running(house, nodes=3):
    """A house at work, with a ready cluster of the older version."""
    async with house.at_work():
        await house.ask(nodes=nodes, kubernetesVersion=OLD)
        await house.until(Ready)
        yield


async def edit(house, **fields):
    """Somebody changes fields of the cluster."""
    (cluster,) = (await house.kube.get(COLONIES, "train", "default"))["spec"]["clusters"]
    await house.kube.patch(COLONIES, "train", "default", {"spec": {"clusters": [cluster | fields]}}, manager="person")


async def runs(house, version):
    """Wait until all of it runs a version."""
    return await house.until(Ready, lambda state: not state.upgrading and state.wish.need.kubernetes_version == version)


async def kubelets(house):
    inside = await house.sandbox.world.kube("default.train-gpu-1").list(NODES)
    return sorted(each["status"]["nodeInfo"]["kubeletVersion"] for each in inside.items)


async def upgrading(house):
    conditions = {each["type"]: each for each in (await house.shown())["conditions"]}
    return conditions["Upgrading"]["status"], conditions["Upgrading"]["reason"]


async def test_every_node_gets_the_version_and_ready_is_never_withdrawn(house):
    async with running(house):
        assert (await house.shown())["kubernetesVersion"] == OLD
        await edit(house, kubernetesVersion=NEW)
        await house.until(Ready, lambda state: state.upgrading and state.upgrading.progress)
        assert await upgrading(house) == ("True", "Upgrading")
        await runs(house, NEW)
        assert (await kubelets(house), await house.life()) == ([NEW] * 4, FOUNDED)
        await asyncio.sleep(30)
        shown = await house.shown()
        assert (shown["kubernetesVersion"], await upgrading(house)) == (NEW, ("False", "AsRequested"))
        assert len(await house.paid()) == 4


async def test_people_are_told_while_machine_after_machine_gets_the_version(house):
    async with running(house):
        await edit(house, kubernetesVersion=NEW)
        await runs(house, NEW)
        told = [state.upgrading.progress for state in await house.states() if getattr(state, "upgrading", None)]
        assert any(f" of 4 machines run {NEW}" in each for each in told)


async def test_no_kubelet_is_ever_newer_than_the_api_server(house):
    house.show_every_step()
    async with running(house), house.sandbox.watched():
        await edit(house, kubernetesVersion=NEW)
        await runs(house, NEW)
    heads, made = {}, []
    for each in house.sandbox.seen:
        if each["kind"] == "KubeadmControlPlane":
            heads = each["status"]
        elif each["kind"] == "Machine" and CONTROL_PLANE not in each["metadata"]["labels"]:
            made.append((each["spec"]["version"], heads.get("version", NEW)))
    assert (NEW, NEW) in made
    assert (NEW, OLD) not in made


@pytest.mark.parametrize("version", ["v1.33.9", "v1.36.0"], ids=["down", "two at once"])
async def test_what_cannot_follow_is_refused_before_it_is_written(house, version):
    async with running(house):
        with pytest.raises(Denied, match=r"never goes down .* one minor version at a time"):
            await edit(house, kubernetesVersion=version)
        assert ((await house.state()).refused, await kubelets(house)) == ("", [OLD] * 4)


async def test_what_is_on_its_way_is_not_called_back(house):
    async with running(house):
        await edit(house, kubernetesVersion=NEW)
        await house.until(Ready, lambda state: state.upgrading)
        with pytest.raises(Denied, match="never goes down"):
            await edit(house, kubernetesVersion=OLD)
        await runs(house, NEW)
        assert await kubelets(house) == [NEW] * 4


async def test_a_pool_that_grows_meanwhile_has_the_version_in_the_end(house):
    async with running(house, nodes=2):
        await edit(house, kubernetesVersion=NEW)
        await house.until(Ready, lambda state: state.upgrading and state.upgrading.progress)
        (cluster,) = (await house.kube.get(COLONIES, "train", "default"))["spec"]["clusters"]
        await edit(house, pools=[cluster["pools"][0] | {"nodes": 4}])
        await house.until(Ready, lambda state: not state.resizing and state.wish.need.nodes == 4)
        await runs(house, NEW)
        assert (await kubelets(house), await house.life()) == ([NEW] * 5, FOUNDED)


async def test_what_hibernates_wakes_in_the_version_it_got_meanwhile(house):
    async with running(house, nodes=1):
        await edit(house, hibernate=True)
        await house.until(Hibernated, lambda state: not state.resizing)
        await edit(house, kubernetesVersion=NEW)
        await house.until(Hibernated, lambda state: state.wish.need.kubernetes_version == NEW)
        await edit(house, hibernate=False)
        await house.until(Ready)
        assert await kubelets(house) == [NEW] * 2


async def test_what_cannot_be_replaced_is_told_as_late_and_stays_ready(house):
    async with running(house):
        await house.faults(full(["r1"]))
        await edit(house, kubernetesVersion=NEW)
        late = await house.until(Ready, lambda state: state.upgrading and state.upgrading.late)
        assert "machines run" in late.upgrading.progress
        await asyncio.sleep(30)
        assert (await upgrading(house), await house.life()) == (("True", "Late"), FOUNDED)
        await house.faults("")
        await runs(house, NEW)


async def test_a_cluster_that_is_lost_meanwhile_is_founded_in_the_new_version(house):
    async with running(house):
        await edit(house, kubernetesVersion=NEW)
        await house.until(Ready, lambda state: state.upgrading)
        await house.delete_by_hand("train-gpu-1")
        founded = await house.until(Ready, lambda state: state.attempt.number == 2)
        assert (founded.upgrading, founded.wish.need.kubernetes_version) == (None, NEW)
        inside = await house.sandbox.world.kube("default.train-gpu-2").list(NODES)
        assert {each["status"]["nodeInfo"]["kubeletVersion"] for each in inside.items} == {NEW}


async def test_an_edit_before_there_is_an_api_is_followed_once_there_is(house):
    async with house.at_work():
        await house.ask(nodes=1, kubernetesVersion=OLD)
        await house.until(Launching)
        await edit(house, kubernetesVersion=NEW)
        await runs(house, NEW)
        assert await kubelets(house) == [NEW] * 2
