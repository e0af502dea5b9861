"""What goes wrong while a cluster is founded has a name, leads to the next offer, and is paid no longer than needed."""

import asyncio

import pytest

from events.kube.resources import CLUSTERTEMPLATES, CONFIGMAPS
from schemas.cluster import Launching, Provisioned, Ready, Stalled, Waiting
from tests.contracts.clouds.house import FIRST

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

AWAY = 15 * 60.0
CLOUD = {"alate.dev/cloud": "aws"}
BROKEN = {
    "capi": (CONFIGMAPS, {"metadata": {"name": "mine", "labels": CLOUD}, "data": {"cluster.yaml": "kind: [Cluster"}}),
    "k0rdent": (
        CLUSTERTEMPLATES,
        {"metadata": {"name": "mine"}, "spec": {}, "status": {"valid": False, "providers": ["infrastructure-aws"]}},
    ),
}
"""By back end: a template from which nothing can be made."""


@pytest.mark.parametrize(
    ("fault", "reasons"),
    [
        ("quotas: [{cloud: aws, region: r1}]", {"Quota"}),
        (f"never_ready: [{FIRST}]", {"TimeOut", "Failed"}),  # a back end may give up before we do
        (f"broken_gpus: {{{FIRST}: 1}}", {"NeverReady"}),
    ],
    ids=["quota", "never ready", "seven of eight"],
)
async def test_what_fails_is_named_and_the_next_offer_is_taken(house, fault, reasons):
    async with house.at_work():
        await house.faults(fault)
        await house.ask()
        ready = await house.until(Ready)
        (attempt,) = ready.failed_attempts
        assert attempt.reason in reasons
        assert attempt.placement.region == "r1"
        assert ready.attempt.placement.region == "r2"
        assert await house.objects() == ("train-gpu-2",)
        assert len(await house.paid()) == 2


async def test_a_cluster_with_seven_of_its_eight_accelerators_is_never_ready(house):
    async with house.at_work():
        await house.faults(f"broken_gpus: {{{FIRST}: 1}}")
        await house.ask()
        await house.until(Provisioned)
        await asyncio.sleep(600)
        assert await house.life() == ["Pending", "Launching", "Provisioned"]
        await house.faults("")
        await house.until(Ready)


async def test_a_credential_that_is_refused_closes_its_cloud_and_no_other(house):
    async with house.at_work():
        await house.faults("denied: [aws]")
        await house.ask()
        waiting = await house.until(Waiting)
        assert waiting.reason == "Denied"
        assert await house.objects() == ()
        assert await house.paid() == []
        await house.offer("g1", 40.0, cloud="gcp")
        assert (await house.until(Ready)).attempt.placement.cloud == "gcp"


async def test_what_cannot_be_made_from_its_template_is_told_and_costs_nothing(house):
    if house.backend not in BROKEN:
        pytest.skip(f"nobody has said what a broken template of {house.backend} is")
    async with house.at_work():
        resource, template = BROKEN[house.backend]
        await house.plant(resource, template)
        await house.ask(template="mine")
        stalled = await house.until(Stalled)
        assert stalled.reason in ("BadTemplate", "NotInstalled")
        assert (await house.shown())["phase"] == "Stalled"
        assert await house.objects() == ()


async def test_a_template_that_is_not_there_is_waited_for(house):
    async with house.at_work():
        await house.ask(template="nowhere")
        stalled = await house.until(Stalled)
        assert stalled.reason == "NotInstalled"
        assert await house.objects() == ()


async def test_one_that_is_deleted_by_hand_while_it_is_made_is_founded_anew_at_once(house):
    async with house.at_work():
        await house.faults(f"never_ready: [{FIRST}]")
        await house.ask()
        launching = await house.until(Launching)
        await asyncio.sleep(60)
        await house.delete_by_hand("train-gpu-1")
        ready = await house.until(Ready)
        assert [attempt.reason for attempt in ready.failed_attempts] == ["Lost"]
        assert ready.billed_since < launching.deadline
        assert await house.objects() == ("train-gpu-2",)


async def test_an_api_server_that_is_away_for_a_quarter_of_an_hour_only_makes_it_later(house):
    async with house.at_work():
        house.gate.turn(open_=False)
        await house.ask()
        await asyncio.sleep(AWAY)
        house.gate.turn(open_=True)
        await house.until(Launching)
        house.gate.turn(open_=False)
        await asyncio.sleep(AWAY)
        house.gate.turn(open_=True)
        ready = await house.until(Ready)
        assert (ready.attempts, ready.failed_attempts) == (1, ())
        assert len(await house.paid()) == 2
