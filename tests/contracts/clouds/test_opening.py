"""One Secret of a Colony opens every cluster of it, whatever becomes of them, and goes with the last."""

import asyncio
from base64 import b64decode, b64encode

import pytest

from events.errors import NotFound
from events.kube.kubeconfig import chosen, parsed
from events.kube.resources import COLONIES, NODES, SECRETS
from schemas.cluster import Ready, Released
from services.compose import SERVICES
from services.gateway.kubeconfig import POLL_ROUND

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

NAME = "train.kubeconfig"
SETTLED = 30.0
"""Seconds after which all that follows from a change has been done."""


async def held(house, name=NAME):
    """The Secret's kubeconfig; None where it is not there."""
    try:
        return b64decode((await house.kube.get(SECRETS, name, "default"))["data"]["value"]).decode()
    except NotFound:
        return None


async def opened(house):
    """The server and user behind each context of the one Secret; nothing where it is not there."""
    text = await held(house)
    document = parsed(text, "it") if text else {}
    found = {each["name"]: chosen(document, "it", each["name"]) for each in document.get("contexts", ())}
    return {name: (one.cluster, one.user) for name, one in found.items()}


async def own(house, number, cluster="gpu"):
    """The server and user in the back end's own Secret of an attempt."""
    one = chosen(parsed(await held(house, f"train-{cluster}-{number}-kubeconfig"), "it"), "it")
    return one.cluster, one.user


async def status(house):
    return (await house.kube.get(COLONIES, "train", "default"))["status"]


async def edited(house, *names):
    """The Colony asks for clusters of these names, each as the first is."""
    colony = await house.kube.get(COLONIES, "train", "default")
    first = colony["spec"]["clusters"][0]
    wanted = [first | {"name": name} for name in names]
    await house.kube.patch(COLONIES, "train", "default", {"spec": {"clusters": wanted}}, manager="person")


async def theirs(house):
    """Somebody has a Secret of that name."""
    wanted = {"metadata": {"name": NAME, "namespace": "default"}, "data": {"value": b64encode(b"theirs").decode()}}
    return await house.kube.create(SECRETS, wanted, manager="person")


async def test_it_opens_the_cluster_and_the_colony_names_it(house):
    async with house.at_work():
        await house.ask(nodes=2)
        await house.until(Ready)
        await asyncio.sleep(SETTLED)
        assert (await status(house))["kubeconfigSecret"] == NAME
        inside = await house.ports.open_cluster(await held(house))
        assert len((await inside.list(NODES)).items) == 3
        assert await opened(house) == {"train/gpu": await own(house, 1)}


@pytest.mark.parametrize("refused", [True, False], ids=["while the old one is refused", "while both are taken"])
async def test_it_follows_a_kubeconfig_that_is_rotated(house, refused):
    async with house.at_work():
        await house.ask()
        await house.until(Ready)
        before = await opened(house)
        await house.rotate("train-gpu-1-kubeconfig", refused=refused)
        await asyncio.sleep(2 * POLL_ROUND + SETTLED)
        assert await opened(house) == {"train/gpu": await own(house, 1)} != before


async def test_it_follows_a_cluster_that_is_founded_anew(house):
    async with house.at_work():
        await house.ask()
        await house.until(Ready)
        await house.delete_by_hand("train-gpu-1")
        await house.until(Ready, lambda state: state.attempts == 2)
        await asyncio.sleep(SETTLED)
        assert await opened(house) == {"train/gpu": await own(house, 2)}


async def test_a_second_cluster_is_a_second_context_until_it_is_taken_out(house):
    async with house.at_work():
        await house.ask()
        await house.until(Ready)
        await edited(house, "gpu", "more")
        await asyncio.sleep(600)
        assert await opened(house) == {"train/gpu": await own(house, 1), "train/more": await own(house, 1, "more")}
        await edited(house, "gpu")
        await asyncio.sleep(SETTLED)
        assert await opened(house) == {"train/gpu": await own(house, 1)}


async def test_it_is_gone_before_its_colony_is(house):
    async with house.at_work():
        await house.ask()
        await house.until(Ready)
        await house.let_go()
        await house.until(Released)
        assert await opened(house) == {}
        await house.gone()
        assert not await house.sandbox.all(SECRETS)


async def test_a_colony_that_is_there_no_more_and_was_waited_for_by_nobody_leaves_none(house):
    async with house.at_work():
        await house.ask()
        await house.until(Ready)
        await house.force_away("train")
        await house.until(Released)
        await asyncio.sleep(SETTLED)
        assert await opened(house) == {}


async def test_anothers_secret_of_the_name_is_left_and_told_until_it_is_away(house):
    async with house.at_work():
        there = await theirs(house)
        await house.ask()
        await house.until(Ready)
        await asyncio.sleep(SETTLED)
        shown = await status(house)
        (told,) = [each for each in shown["conditions"] if each["type"] == "KubeconfigWritten"]
        assert (told["status"], told["reason"], "kubeconfigSecret" in shown) == ("False", "NameTaken", False)
        assert told["message"] == f"Secret {NAME} is not of this Colony and stays as it is: delete or rename it"
        assert await house.kube.get(SECRETS, NAME, "default") == there
        await house.kube.delete(SECRETS, NAME, "default")
        await asyncio.sleep(2 * POLL_ROUND + SETTLED)
        assert await opened(house) == {"train/gpu": await own(house, 1)}


async def test_anothers_secret_outlives_the_colony(house):
    async with house.at_work():
        there = await theirs(house)
        await house.ask()
        await house.until(Ready)
        await house.let_go()
        await house.gone()
        assert await house.kube.get(SECRETS, NAME, "default") == there


async def test_a_restart_of_the_gateway_writes_nothing(house):
    async with house.at_work():
        await house.ask()
        await house.until(Ready)
        await asyncio.sleep(SETTLED)
        before = await house.kube.get(SECRETS, NAME, "default"), await house.kube.get(COLONIES, "train", "default")
        again = asyncio.create_task(SERVICES["gateway"](house.ports).run())
        await asyncio.sleep(SETTLED)
        again.cancel()
        after = await house.kube.get(SECRETS, NAME, "default"), await house.kube.get(COLONIES, "train", "default")
        assert after == before


async def test_one_made_at_once_under_the_old_name_has_its_own(house):
    async with house.at_work():
        await house.ask()
        await house.until(Ready)
        first = await house.kube.get(SECRETS, NAME, "default")
        await house.let_go()
        await house.gone()
        await house.ask()
        await house.until(Ready, lambda state: state.uid != "")
        await asyncio.sleep(SETTLED)
        second = await house.kube.get(SECRETS, NAME, "default")
        colony = await house.kube.get(COLONIES, "train", "default")
        assert second["metadata"]["uid"] != first["metadata"]["uid"]
        assert second["metadata"]["ownerReferences"][0]["uid"] == colony["metadata"]["uid"]
