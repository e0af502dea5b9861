"""A cluster that others made is taken in as it is, never made a second time, and theirs again in the end."""

import asyncio

import msgspec
import pytest

from events.kube.resources import COLONIES, NODES, PVCS
from schemas.cluster import Ready, Released, Stalled, Waiting
from schemas.crds import read_colony
from schemas.placement import Attempt, Placement
from services.clouds.port import backend_types
from services.gateway.wishes import wishes
from services.kubernetes.labels import ATTEMPT, CLUSTER, UID
from tests.contracts.clouds.house import INSTANCE
from tests.samples import LOT

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

THEIRS = "theirs-gpu-1"
"""What somebody else made, under the name that the maker gave it."""
PRICE = 3.0
NEW = "v1.35.0"
"""Of Kubernetes, and not what a Colony that names none asks for."""
CLAIM = {
    "metadata": {"name": "data", "namespace": "default"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
FREE_OF_US = {"metadata": {"labels": dict.fromkeys((CLUSTER, UID, ATTEMPT)), "ownerReferences": None}}


async def made(house, nodes=2, **more):
    """Somebody else makes a cluster by hand, with no mark of ours on it."""
    await house.ask(nodes=nodes, name="theirs", **more)
    (wish,) = wishes(read_colony(await house.kube.get(COLONIES, "theirs", "default")), house.backend)
    lot = msgspec.structs.replace(
        LOT, pool=wish.need.pools[0].name, instance=INSTANCE, zone="", spot=False, nodes=nodes
    )
    attempt = Attempt(number=1, placement=Placement(cloud="aws", region="r1", lots=(lot,)))
    await backend_types()[house.backend](house.kube).launch(wish, attempt, wish.uid)
    await house.edit_by_hand(THEIRS, FREE_OF_US)
    await house.kube.delete(COLONIES, "theirs", "default")


async def adopt(house, nodes=2, **more):
    await house.ask(nodes=nodes, adopt={"name": THEIRS, "nodePricePerHour": PRICE} | more)


async def labels(house):
    found = await house.sandbox.all(house.ports.clouds[house.backend].watched)
    return [each["metadata"].get("labels", {}).get(CLUSTER) for each in found]


async def test_it_is_taken_in_as_it_is_and_is_as_it_was_when_it_is_let_go(house):
    await made(house)
    async with house.at_work():
        await adopt(house)
        ready = await house.until(Ready)
        assert await house.life() == ["Pending", "Launching", "Provisioned", "Ready"]
        assert (await house.objects(), await labels(house)) == ((THEIRS,), ["train-gpu"])
        assert (ready.kubeconfig, ready.attempt.placement.price_per_hour) == (f"{THEIRS}-kubeconfig", 2 * PRICE)
        paid, inside = len(await house.paid()), house.sandbox.world.kube(f"default.{THEIRS}")
        await inside.create(PVCS, CLAIM)
        await house.let_go()
        await house.gone()
        assert isinstance(await house.state(), Released)
        assert (await house.objects(), await labels(house), len(await house.paid())) == ((THEIRS,), [None], paid)
        assert (await inside.list(PVCS)).items
        assert not any(node["spec"].get("unschedulable") for node in (await inside.list(NODES)).items)
        before = await house.said()
        await asyncio.sleep(3600)
        assert await house.said() == before


async def test_it_is_deleted_in_the_end_only_where_that_is_asked_for(house):
    await made(house)
    async with house.at_work():
        await adopt(house, onRelease="delete")
        await house.until(Ready)
        await house.let_go()
        await house.gone()
        assert (await house.objects(), await house.paid()) == ((), [])


async def test_what_does_not_stand_is_not_made(house):
    async with house.at_work():
        await adopt(house)
        stalled = await house.until(Stalled)
        kind = house.ports.clouds[house.backend].watched.kind
        told = f"there is no {kind} {THEIRS} in namespace default: adopt one that is there, or leave adopt out"
        assert (stalled.reason, stalled.message) == ("NothingToAdopt", told)
        await asyncio.sleep(3600)
        assert (await house.objects(), await house.paid()) == ((), [])


async def test_one_that_is_deleted_by_hand_is_not_made_anew(house):
    await made(house)
    async with house.at_work():
        await adopt(house)
        await house.until(Ready)
        await house.delete_by_hand(THEIRS)
        stalled = await house.until(Stalled)
        assert stalled.reason == "NothingToAdopt"
        assert (await house.objects(), await house.paid()) == ((), [])


async def test_one_that_lost_its_marks_by_hand_is_taken_in_again(house):
    await made(house)
    async with house.at_work():
        await adopt(house)
        await house.until(Ready)
        await house.edit_by_hand(THEIRS, FREE_OF_US)
        ready = await house.until(Ready, lambda state: state.attempt.number == 2)
        assert (ready.attempt.adopts, await labels(house)) == (THEIRS, ["train-gpu"])


async def test_of_two_colonies_one_gets_it_and_the_other_once_that_lets_go(house):
    await made(house)
    async with house.at_work():
        await adopt(house)
        await house.until(Ready)
        await house.ask(nodes=2, name="late", adopt={"name": THEIRS, "nodePricePerHour": PRICE})
        waiting = await house.until(Waiting, name="late")
        assert waiting.reason == "AlreadyExists"
        assert "is adopted already, as train-gpu" in waiting.message
        await house.let_go()
        await house.gone()
        await house.until(Ready, name="late")
        assert (await house.objects(), await labels(house)) == ((THEIRS,), ["late-gpu"])


async def test_one_of_another_size_is_left_as_it_is(house):
    await made(house, nodes=2)
    async with house.at_work():
        await adopt(house, nodes=3)
        stalled = await house.until(Stalled)
        assert stalled.reason == "DoesNotFit"
        assert await labels(house) == [None]


async def test_one_of_another_version_is_left_as_it_is_until_the_colony_says_that(house):
    await made(house, kubernetesVersion=NEW)
    async with house.at_work():
        await asyncio.sleep(600)
        await adopt(house)
        stalled = await house.until(Stalled)
        told = f"it has Kubernetes {NEW}, not v1.34.0: write that version, and upgrade it then"
        assert (stalled.reason, stalled.message, await labels(house)) == ("DoesNotFit", told, [None])
        (cluster,) = (await house.kube.get(COLONIES, "train", "default"))["spec"]["clusters"]
        right = {"spec": {"clusters": [cluster | {"kubernetesVersion": NEW}]}}
        await house.kube.patch(COLONIES, "train", "default", right, manager="person")
        await house.until(Ready)
        assert (await house.shown())["kubernetesVersion"] == NEW
