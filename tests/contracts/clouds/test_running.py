"""Whatever befalls a running cluster, its state says what is so: nothing flaps, and what is lost is founded anew."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from events.kube.resources import CLUSTERDEPLOYMENTS, MACHINEDEPLOYMENTS, MACHINEHEALTHCHECKS
from schemas.cluster import Provisioned, Ready
from tests.contracts.clouds.house import FIRST

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

FOUNDED = ["Pending", "Launching", "Provisioned", "Ready"]
SIZES = {
    "capi": (MACHINEDEPLOYMENTS, "train-gpu-1-md", {"replicas": 1}),
    "k0rdent": (CLUSTERDEPLOYMENTS, "train-gpu-1", {"config": {"workersNumber": 1}}),
}
"""By back end: where its size stands, and what somebody makes of it."""

HEALS = ("capi",)
"""Back ends whose clusters have a machine replaced that broke; k0rdent's templates ask nobody to."""


@asynccontextmanager
async def running(house):
    """A house at work, with a ready cluster of two nodes."""
    async with house.at_work():
        await house.ask(nodes=2)
        await house.until(Ready)
        yield


@pytest.mark.parametrize("taken", [1, 2], ids=["some", "all"])
async def test_one_whose_machines_are_taken_back_is_not_ready_and_is_founded_anew_in_the_end(house, taken):
    if house.backend in HEALS and taken == 1:
        pytest.skip("it gets another machine")
    async with running(house):
        await house.faults(f"preempted: {{{FIRST}: {taken}}}")
        assert (await house.until(Provisioned)).was_ready
        ready = await house.until(Ready)
        assert [attempt.reason for attempt in ready.failed_attempts] == ["NeverReady"]
        assert await house.life() == [*FOUNDED, "Provisioned", "Placing", "Launching", "Provisioned", "Ready"]
        assert len(await house.paid()) == 3


@pytest.mark.parametrize("fault", ["preempted", "dark"])
async def test_a_machine_that_is_taken_back_or_falls_silent_is_replaced(house, fault):
    if house.backend not in HEALS:
        pytest.skip("it is founded anew")
    async with running(house):
        await house.faults(f"{fault}: {{{FIRST}: 1}}")
        assert (await house.until(Provisioned)).was_ready
        ready = await house.until(Ready)
        assert (ready.attempts, ready.failed_attempts) == (1, ())
        assert await house.life() == [*FOUNDED, "Provisioned", "Ready"]
        assert len(await house.paid()) == 3
        await house.let_go()
        await house.gone()
        assert (await house.paid(), await house.objects()) == ([], ())
        assert await house.sandbox.all(MACHINEHEALTHCHECKS) == ()


async def test_one_whose_machine_comes_back_is_ready_again(house):
    async with running(house):
        await house.faults(f"broken_gpus: {{{FIRST}: 1}}")
        await house.until(Provisioned)
        await house.faults("")
        await house.until(Ready)
        assert await house.life() == [*FOUNDED, "Provisioned", "Ready"]
        assert await house.objects() == ("train-gpu-1",)


async def test_a_lost_accelerator_is_noticed_after_the_kubeconfig_was_rotated(house):
    async with running(house):
        await house.rotate("train-gpu-1-kubeconfig")
        await asyncio.sleep(600)
        assert await house.life() == FOUNDED
        await house.faults(f"broken_gpus: {{{FIRST}: 1}}")
        await house.until(Provisioned)


async def test_one_that_is_deleted_by_hand_is_founded_anew(house):
    async with running(house):
        await house.delete_by_hand("train-gpu-1")
        ready = await house.until(Ready, lambda state: state.attempts == 2)
        assert [attempt.reason for attempt in ready.failed_attempts] == ["Lost"]
        assert await house.objects() == ("train-gpu-2",)
        assert len(await house.paid()) == 3


async def test_one_that_is_labelled_by_hand_is_none_the_worse(house):
    async with running(house):
        await house.edit_by_hand("train-gpu-1", {"metadata": {"labels": {"team": "blue"}}})
        await asyncio.sleep(1800)
        assert await house.life() == FOUNDED
        await house.let_go()
        await house.gone()
        assert await house.objects() == ()


async def test_nodes_that_are_taken_out_by_hand_come_back(house):
    if house.backend not in SIZES or house.of_a_class:
        pytest.skip("it keeps its size elsewhere, or its topology sets that right before anyone could miss a node")
    resource, name, patch = SIZES[house.backend]
    async with running(house):
        await house.kube.patch(resource, name, "default", {"spec": patch}, manager="person")
        await house.until(Provisioned)
        await house.until(Ready)
        assert await house.life() == [*FOUNDED, "Provisioned", "Ready"]
        assert len(await house.paid()) == 3


async def test_a_management_cluster_that_is_away_for_a_quarter_of_an_hour_changes_nothing(house):
    async with running(house):
        before = await house.said()
        house.gate.turn(open_=False)
        await asyncio.sleep(15 * 60)
        house.gate.turn(open_=True)
        await asyncio.sleep(600)
        assert await house.said() == before


async def test_a_probe_that_fails_for_a_while_withdraws_nothing(house):
    async with running(house):
        before = await house.said()
        await house.faults(f"lost_probe: [{FIRST}]")
        await asyncio.sleep(600)
        await house.faults("")
        await asyncio.sleep(600)
        assert await house.said() == before


async def test_one_made_anew_under_the_name_at_once_never_meets_its_predecessor(house):
    async with running(house):
        old = (await house.until(Ready)).uid
        await house.force_away("train")
        await house.ask(nodes=1)
        new = await house.until(Ready, lambda state: state.uid != old)
        assert (new.attempts, new.failed_attempts) == (1, ())
        assert {line.uid for line in await house.paid()} == {new.uid}
        await asyncio.sleep(1800)
        assert (await house.until(Ready)).uid == new.uid
        await house.let_go()
        await house.gone()
        assert await house.paid() == []
