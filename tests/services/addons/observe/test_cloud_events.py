"""A CloudEvent that says that something was created deploys, one that says that it was deleted withdraws."""

import pytest

from events.bus import Message
from events.cloudevents import CloudEvent, encode
from events.kube.resources import ADDONPROFILES, TRIGGERS
from tests.services.addons.fleet import TENANT
from tests.services.addons.trigger_stage import DEPLOY, trigger_stage

pytestmark = pytest.mark.looptime

PROFILE = {"clusters": {"names": ["train-a"]}, **DEPLOY["profile"]}
CREATED = {"name": "created", "when": "event.type == 'com.example.created'", "then": "Deploy", "profile": PROFILE}
DELETED = {"name": "deleted", "when": "event.type == 'com.example.deleted'", "then": "Withdraw"}
NAME = "tools-train-a-one"


@pytest.fixture
async def stage():
    async with trigger_stage("train-a") as made:
        spec = {"name": "tools-${event.subject}", "endpoint": "ci", "rules": [CREATED, DELETED]}
        meta = {"name": "events", "namespace": TENANT}
        await made.fleet.management.apply(TRIGGERS, {"metadata": meta, "spec": spec}, manager="user")
        await made.is_ready("events")
        yield made


async def deliver(stage, what: str, identity: str) -> None:
    said = CloudEvent(
        id=identity, source="/s", type=f"com.example.{what}", subject="train-a-one", data=b'{"name": "one"}'
    )
    headers, body = encode(said)
    await stage.fleet.bus.publish(Message(f"hook.cloudevents.{TENANT}.ci.{identity}", body, headers))


async def probed(stage, of):
    async def look():
        return await stage.probe("train-a") == of

    await stage.fleet.until(look)


async def test_an_event_of_creation_deploys_and_one_of_deletion_with_the_same_source_and_subject_withdraws(stage):
    await deliver(stage, "created", "1")
    await probed(stage, "one")
    await deliver(stage, "deleted", "2")
    await probed(stage, "")
    assert await stage.profiles() == set()
    await deliver(stage, "created", "3")
    await probed(stage, "one")


async def test_a_generated_profile_that_is_ending_keeps_its_objects_until_it_is_gone(stage):
    await deliver(stage, "created", "1")
    await probed(stage, "one")
    held = {"metadata": {"finalizers": ["example.com/hold"]}}
    await stage.fleet.management.patch(ADDONPROFILES, NAME, TENANT, held)
    await deliver(stage, "deleted", "2")

    async def is_ending():
        return "deletionTimestamp" in (await stage.fleet.management.get(ADDONPROFILES, NAME, TENANT))["metadata"]

    await stage.fleet.until(is_ending)
    await stage.fleet.stop()
    await stage.fleet.start()
    assert await stage.probe("train-a") == "one"
    assert (await stage.fleet.states("train-a", f"{NAME}.probe"))[-1] == "applied"
    await stage.fleet.management.patch(ADDONPROFILES, NAME, TENANT, {"metadata": {"finalizers": None}})
    await probed(stage, "")
    assert await stage.profiles() == set()


async def test_a_deleted_trigger_takes_what_it_deployed_off_the_clusters(stage):
    await deliver(stage, "created", "1")
    await probed(stage, "one")
    await stage.fleet.management.delete(TRIGGERS, "events", TENANT)
    await probed(stage, "")
    assert await stage.profiles() == set()
