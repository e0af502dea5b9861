"""Machines of one's own, reached over SSH, take part in placement at their own price, and are never promised twice."""

import asyncio

import pytest
import yaml

from events.errors import Denied, NoCapacity
from events.kube.resources import CLUSTERDEPLOYMENTS, CONFIGMAPS, CREDENTIALS
from schemas.cluster import Ready, Waiting
from services.clouds.claims import claim_machines, machines_offered_as
from tests.contracts.clouds.house import INSTANCE, House
from tests.samples import LOT

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

MACHINES = [{"address": f"10.0.0.{number}", "user": "ubuntu", "useSudo": True, "pool": INSTANCE} for number in range(3)]
CREDENTIAL = {
    "metadata": {
        "name": "rack",
        "labels": {"alate.dev/cloud": "rack"},
        "annotations": {"alate.dev/config": yaml.safe_dump({"machines": MACHINES})},
    },
    "spec": {"identityRef": {"apiVersion": "v1", "kind": "Secret", "name": "rack-key", "namespace": "default"}},
    "status": {"ready": True},
}


@pytest.fixture
def house(sandbox):
    return House(sandbox, "k0rdent")


async def own(house):
    """Three machines in a rack, for nothing."""
    await house.plant(CREDENTIALS, CREDENTIAL)
    await house.offer("basement", 0.0, cloud="rack", limit=len(MACHINES))


async def promised(house):
    """The machines of each ClusterDeployment."""
    found = await house.sandbox.all(CLUSTERDEPLOYMENTS)
    return [[each["address"] for each in one["spec"]["config"].get("machines", ())] for one in found]


async def test_a_cluster_goes_to_machines_of_ones_own_while_they_are_free_and_to_a_cloud_when_not(house):
    async with house.at_work():
        await own(house)
        await house.ask(nodes=2)
        ready = await house.until(Ready)
        assert (ready.attempt.placement.cloud, ready.attempt.placement.price_per_hour) == ("rack", 0.0)
        assert await promised(house) == [["10.0.0.0", "10.0.0.1"]]
        await house.ask(nodes=2, name="other")
        assert (await house.until(Ready, name="other")).attempt.placement.cloud == "aws"


async def test_what_wants_more_than_are_free_waits_until_they_are_given_back(house):
    async with house.at_work():
        await own(house)
        await house.ask(nodes=2)
        await house.until(Ready)
        await house.ask(nodes=2, name="other", clouds=["rack"])
        assert (await house.until(Waiting, name="other")).reason == "Taken"
        await house.let_go()
        await house.until(Ready, name="other")
        assert await promised(house) == [["10.0.0.0", "10.0.0.1"]]
        await house.let_go("other")
        await house.gone("other")
        assert not [one for one in await house.sandbox.all(CONFIGMAPS) if one["metadata"]["name"].startswith("alate-m")]


async def test_k0rdent_is_told_of_each_machine_only_what_it_knows_and_touches_none_before_they_are_claimed(house):
    async with house.at_work():
        await own(house)
        await house.ask(nodes=1)
        await house.until(Ready)
        (found,) = await house.sandbox.all(CLUSTERDEPLOYMENTS)
        spec = found["spec"]
        assert spec["config"]["machines"] == [{"address": "10.0.0.0", "user": "ubuntu", "useSudo": True}]
        assert (spec["dryRun"], spec["propagateCredentials"], spec["credential"]) == (False, False, "rack")
        assert "workersNumber" not in spec["config"]


async def test_their_nodes_bear_what_the_pool_asks_for(house):
    async with house.at_work():
        await own(house)
        await house.ask(nodes=1, labels={"example.com/team": "blue"})
        await house.until(Ready)
        (found,) = await house.sandbox.all(CLUSTERDEPLOYMENTS)
        (machine,) = found["spec"]["config"]["machines"]
        assert machine["k0s"] == {"args": ["--labels=alate.dev/pool=md,example.com/team=blue"]}


async def test_their_clusters_give_out_the_addresses_that_were_asked_for(house):
    async with house.at_work():
        await own(house)
        await house.ask(nodes=1, network={"pods": ["10.8.0.0/14"], "services": ["10.200.0.0/16"]})
        await house.until(Ready)
        (found,) = await house.sandbox.all(CLUSTERDEPLOYMENTS)
        assert found["spec"]["config"]["clusterNetwork"]["pods"] == {"cidrBlocks": ["10.8.0.0/14"]}


async def deployment(house, name):
    labels = {f"alate.dev/{mark}": name for mark in ("cluster", "uid", "attempt")}
    return await house.kube.create(
        CLUSTERDEPLOYMENTS, {"metadata": {"name": name, "namespace": "default", "labels": labels}}
    )


async def test_of_two_who_claim_at_once_each_machine_is_one_ones_alone(house):
    one, other = await deployment(house, "one"), await deployment(house, "other")
    got = await asyncio.gather(
        *(claim_machines(house.kube, each, MACHINES, 2) for each in (one, other)), return_exceptions=True
    )
    (short,) = (each for each in got if isinstance(each, NoCapacity))
    assert short.message == "1 of 2 machines are free"
    assert sum(isinstance(each, list) for each in got) == 1


async def test_who_claims_again_gets_the_same_even_if_others_are_free_by_then(house):
    one, other = await deployment(house, "one"), await deployment(house, "other")
    await claim_machines(house.kube, one, MACHINES, 1)
    mine = await claim_machines(house.kube, other, MACHINES, 1)
    await house.kube.delete(CLUSTERDEPLOYMENTS, "one", "default")
    await asyncio.sleep(1)
    assert (
        await claim_machines(house.kube, other, MACHINES, 1)
        == mine
        == [{"address": "10.0.0.1", "user": "ubuntu", "useSudo": True}]
    )


@pytest.mark.parametrize("said", [{}, {"machines": "10.0.0.1"}, {"machines": [{"port": 22}]}])
def test_machines_without_an_address_are_named_as_what_is_wrong(said):
    with pytest.raises(Denied, match="each with an address and a pool") as denied:
        machines_offered_as(said, LOT)
    assert denied.value.reason == "BadConfiguration"
