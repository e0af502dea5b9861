"""An add-on is put on a real (sandboxed) cluster, waited for, and taken away, whatever is missing meanwhile."""

import asyncio
import json
from contextlib import suppress
from datetime import datetime, timedelta

import msgspec
import pytest

from events.bus import Message
from events.errors import NotFound, TryLater
from events.kube.client import Kube
from events.kube.resources import CONFIGMAPS, DEPLOYMENTS, SECRETS
from events.memory.bus import MemoryBus
from schemas.addon import AddonFailed, AddonHealthy, AddonPending, AddonRemoved
from schemas.cluster import Ready
from schemas.placement import Attempt, Placement
from schemas.registry import declared
from schemas.subjects import Key
from schemas.wish import AddonRef, Need, Wish
from services.addons.objects.apply_set import PART_OF
from services.addons.record import addon_set
from services.addons.service import service
from services.runtime.loop import Runtime
from services.runtime.machine import Waits
from tests.context import context
from tests.services.addons.conftest import START
from tests.services.addons.house import CONFIG, DEPLOYMENT, KIND, UNKNOWN, UNSERVED

pytestmark = pytest.mark.looptime

UNSEEN = "waits for Deployment kube-system/driver: its controller has not looked at it yet"


def clock() -> datetime:
    return START + timedelta(seconds=asyncio.get_running_loop().time())


class Silent:
    """An API server that nobody reaches."""

    async def send(self, _):
        raise TryLater("nobody answers")


async def test_what_is_written_and_healthy_is_settled(house):
    await house.colony(CONFIG)
    assert await house.apply() == (AddonHealthy(house.digest),)
    made = await house.workload.get(CONFIGMAPS, "settings", "default")
    assert made["data"] == {"size": "small"}
    assert made["metadata"]["labels"] == {"alate.dev/addon": "driver", PART_OF: addon_set("driver")}


async def test_applying_again_changes_nothing(house):
    await house.colony(CONFIG)
    await house.apply()
    before = await house.workload.get(CONFIGMAPS, "settings", "default")
    assert await house.apply() == (AddonHealthy(house.digest),)
    assert await house.workload.get(CONFIGMAPS, "settings", "default") == before


async def test_what_is_not_healthy_yet_is_waited_for(house):
    await house.colony(f"{CONFIG}---{DEPLOYMENT}")
    with pytest.raises(TryLater, match="Deployment kube-system/driver: its controller has not looked at it yet"):
        await house.apply()
    counts = dict.fromkeys(("replicas", "updatedReplicas", "availableReplicas"), 1)
    status = {"status": {"observedGeneration": 1, **counts}}
    await house.workload.patch(DEPLOYMENTS, "driver", "kube-system", status, subresource="status")
    assert await house.apply() == (AddonHealthy(house.digest),)


async def test_a_kind_that_is_not_served_is_told_once_then_waited_for(house):
    await house.colony(UNKNOWN)
    assert await house.apply() == (AddonPending(house.digest, UNSERVED),)
    assert await house.apply("something else") == (AddonPending(house.digest, UNSERVED),)
    with pytest.raises(TryLater, match=UNSERVED):
        await house.apply(UNSERVED)


async def test_what_was_lacking_and_is_there_gives_way_to_what_is_waited_for_now(house):
    await house.colony(DEPLOYMENT)
    with pytest.raises(Waits) as waits:
        await house.apply(UNSERVED)
    assert waits.value.event == AddonPending(house.digest, UNSEEN, progress=True, written=True)


async def history(house, seconds, meanwhile=None):
    """What is said of the add-on, by the service as it runs, within so many seconds; `meanwhile` after half of them."""
    bus = MemoryBus(clock=clock)
    addons, *_ = service(context(bus, clock), house.management, house.workloads)
    runtime = Runtime(addons, context(bus, clock))
    running = asyncio.create_task(runtime.run())
    wish = Wish(
        tenant="default", colony="train", cluster="a", uid="c1", generation=1, need=Need(pools=()),
        addons=(AddonRef("driver", house.digest),),
    )  # fmt: skip
    attempt = Attempt(number=1, placement=Placement(cloud="own", region="r", lots=()))
    up = Ready(
        uid="c1.1", correlation="c1", wish=wish, since=START, attempt=attempt, attempts=1, billed_since=START,
        kubeconfig="k",
    )  # fmt: skip
    await bus.publish(Message(declared(Ready).at("default", "train-a"), msgspec.json.encode(up)))
    await asyncio.sleep(seconds / 2)
    if meanwhile is not None:
        await meanwhile
    await asyncio.sleep(seconds / 2)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    said = await bus.read("EVENTS", Key("addon", "default", "train-a.driver").history)
    return [(one.subject.split(".")[1], json.loads(one.data).get("message", "")) for one in said]


@pytest.mark.parametrize(("manifests", "why"), [(UNKNOWN, UNSERVED), (DEPLOYMENT, UNSEEN)])
async def test_what_never_becomes_healthy_says_why_and_is_degraded_for_it_in_ten_minutes(house, manifests, why):
    await house.colony(manifests)
    degraded = ("degraded", f"not healthy within 10 minutes: {why}")
    assert await history(house, 660) == [("applying", ""), *[("applying", why)] * 2, degraded]


async def test_pods_that_become_ready_one_by_one_are_told_from_the_first_check_and_every_fifteen_seconds(house):
    await house.colony(DEPLOYMENT.replace("spec:\n  selector", "spec:\n  replicas: 60\n  selector"))
    begun, said = asyncio.create_task(history(house, 62)), "waits for Deployment kube-system/driver"
    for pods in range(60):
        await asyncio.sleep(1.0)
        counts = {"replicas": 60, "updatedReplicas": 60, "availableReplicas": pods}
        status = {"status": {"observedGeneration": 1, **counts}}
        await house.workload.patch(DEPLOYMENTS, "driver", "kube-system", status, subresource="status")
    told = [text.removeprefix(said) for _, text in await begun]
    assert told[:2] == ["", ": 0 of 60 pods ready"]
    assert len(told) <= 2 + 60 // 15
    assert all(text.endswith(" of 60 pods ready") for text in told[1:])


async def test_what_is_healthy_at_once_is_said_in_two_words(house):
    await house.colony(CONFIG)
    assert await history(house, 660) == [("applying", ""), ("applied", "")]


async def test_what_somebody_deleted_is_said_to_be_gone_and_is_put_back(house):
    await house.colony(CONFIG)
    deletes = house.workload.delete(CONFIGMAPS, "settings", "default")
    gone = ("applying", "ConfigMap settings is not there any more")
    told = await history(house, 660, deletes)
    assert told[:3] == [("applying", ""), ("applied", ""), gone]
    assert told[-1] == ("applied", "")
    assert "settings" in await house.there()


async def test_a_cluster_that_never_answers_is_no_wait_without_an_end(house):
    await house.colony(CONFIG)
    house.workload = Kube(Silent(), random=lambda: 0.5)
    said = await history(house, 660)
    why = "nobody answers"
    assert said == [("applying", ""), *[("applying", why)] * 2, ("degraded", f"not healthy within 10 minutes: {why}")]


async def test_a_definition_is_written_before_its_objects_wherever_it_stands(house):
    await house.colony(f"{UNKNOWN}---{KIND}")
    assert await house.apply() == (AddonHealthy(house.digest),)


@pytest.mark.parametrize(
    ("manifests", "why"),
    [(UNKNOWN, UNSERVED), (DEPLOYMENT, UNSEEN)],
)
async def test_what_is_overdue_says_whatever_it_waits_for(house, manifests, why):
    await house.colony(manifests)
    assert await house.apply(overdue=True) == (AddonPending(house.digest, why),)
    assert await house.apply(why, overdue=True) == (AddonPending(house.digest, why),)


async def test_what_is_healthy_at_the_last_look_is_settled(house):
    await house.colony(CONFIG)
    assert await house.apply(UNSERVED, overdue=True) == (AddonHealthy(house.digest),)


async def test_while_the_cluster_does_not_answer_what_was_told_stands(house):
    await house.colony(CONFIG)
    house.workload = Kube(Silent(), random=lambda: 0.5)
    with pytest.raises(TryLater, match="nobody answers"):
        await house.apply(UNSERVED)
    assert await house.apply(UNSERVED, overdue=True) == (AddonPending(house.digest, "nobody answers"),)


@pytest.mark.parametrize("meta", ["{name: x, namespace: 5}", "{name: x, labels: [1]}", "{name: ../../../x}"])
async def test_what_nobody_can_read_is_failed_and_can_be_withdrawn(house, meta):
    """A Colony of before this was refused may hold it still."""
    await house.colony(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {meta}")
    ((failed,),) = (await house.apply(),)
    assert isinstance(failed, AddonFailed)
    assert "must hold Kubernetes objects, but document 1 has " in failed.message
    assert await house.withdraw() == (AddonRemoved(),)


async def test_a_colony_that_changed_since_is_waited_for(house):
    await house.colony(CONFIG)
    old = house.digest
    await house.colony(DEPLOYMENT)
    house.digest = old
    with pytest.raises(TryLater, match="has changed since"):
        await house.apply()


async def test_a_colony_without_the_addon_has_failed_it(house):
    house.digest = "d"
    ((failed),) = await house.apply()
    assert isinstance(failed, AddonFailed)


@pytest.mark.parametrize(
    ("missing", "why"), [("secret", "k"), ("value", "Secret default/k holds no kubeconfig under the key value yet")]
)
async def test_a_cluster_that_cannot_be_opened_is_told_once_then_waited_for(house, missing, why):
    await house.colony(CONFIG)
    await house.management.delete(SECRETS, "k", "default")
    if missing == "value":
        await house.secret("")
    (awaits,) = await house.apply()
    assert isinstance(awaits, AddonPending)
    assert why in awaits.message
    with pytest.raises(TryLater, match="k"):
        await house.apply(awaits.message)


async def test_withdrawing_takes_away_everything_and_is_done_when_it_is_gone(house):
    await house.colony(f"{CONFIG}---{DEPLOYMENT}")
    with pytest.raises(TryLater):
        await house.apply()
    with pytest.raises(TryLater, match="2 objects of driver are going"):
        await house.withdraw()
    assert await house.withdraw() == (AddonRemoved(),)
    for resource, name, namespace in ((CONFIGMAPS, "settings", "default"), (DEPLOYMENTS, "driver", "kube-system")):
        with pytest.raises(NotFound):
            await house.workload.get(resource, name, namespace)


async def test_what_never_was_put_on_is_withdrawn_already(house):
    await house.colony(f"{CONFIG}---{UNKNOWN}")
    assert await house.withdraw() == (AddonRemoved(),)


async def test_without_the_cluster_or_the_colony_there_is_nothing_to_withdraw(house):
    assert await house.withdraw() == (AddonRemoved(),)
    await house.colony(CONFIG)
    await house.management.delete(SECRETS, "k", "default")
    assert await house.withdraw() == (AddonRemoved(),)
