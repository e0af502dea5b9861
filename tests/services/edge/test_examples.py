"""Each Trigger that is shipped, from the request or the event to the Colony or profile on the API, and away again."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
import yaml

from events.backoff import Rate
from events.bus import Message
from events.cloudevents import CloudEvent, encode
from events.errors import NotFound
from events.kube.client import Kube, Object
from events.kube.resources import ADDONPROFILES, COLONIES, TRIGGERS
from events.memory.bus import MemoryBus
from services.edge.triggers.crd_source import CrdTriggers
from services.edge.triggers.loop import TriggerLoop
from services.edge.webhooks.inbox import CONSUMER
from services.gateway.intake import IntakeWorker
from services.sandbox.api.server.app import MANAGEMENT, Api
from services.sandbox.api.server.local import LocalTransport
from services.sandbox.api.store.journal import MemoryJournal
from services.sandbox.seeds.plant import seed
from tests.context import context
from tests.services.edge.here import Here
from tests.services.edge.house import NOW, RUN, SECRET, SHA, WHSEC, House, bearer, furnished, github, standard
from tests.services.edge.test_senders import ALERTS, MERGE, PIPELINE

SHIPPED = Path(__file__).parents[3] / "deploy" / "triggers"


@dataclass
class World:
    """A house whose deliveries reach an API server."""

    house: House
    kube: Kube
    book: CrdTriggers

    async def follow(self, name: str) -> None:
        """Apply a shipped Trigger, and wait until it is followed."""
        (trigger,) = yaml.safe_load_all((SHIPPED / name).read_text())
        trigger["metadata"]["namespace"] = "default"
        await self.kube.apply(TRIGGERS, trigger, manager="kubectl")
        await self.until(lambda: self._accepted(trigger["metadata"]["name"]))

    async def _accepted(self, name: str) -> bool:
        shown = (await self.kube.get(TRIGGERS, name, "default")).get("status", {}).get("conditions", ())
        return [each["status"] for each in shown if each["type"] == "Accepted"] == ["True"]

    async def send(self, path: str, body: Object, prove: Callable[[bytes], dict[str, str]]) -> None:
        self.house.endpoint(path.removeprefix("/hooks/").replace("/", "."), SECRET, WHSEC)
        data = json.dumps(body).encode()
        for _ in range(2):  # senders repeat themselves
            assert (await self.house.post(path, data, prove(data))).status == 202

    async def say(self, subject: str, **data: object) -> None:
        """Publish what another service does."""
        event = CloudEvent(id=subject, source="/alate", type="x", data=json.dumps(data).encode())
        headers, body = encode(event)
        await self.house.bus.publish(Message(subject, body, headers))

    async def until_profiles(self, *names: str) -> list[Object]:
        async def so() -> bool:
            return [each["metadata"]["name"] for each in await self.profiles()] == list(names)

        await self.until(so)
        return await self.profiles()

    async def has_profiles(self, number: int) -> bool:
        return len(await self.profiles()) == number

    async def profiles(self) -> list[Object]:
        return list((await self.kube.list(ADDONPROFILES, "default")).items)

    async def colony(self, name: str) -> Object | None:
        try:
            return await self.kube.get(COLONIES, name, "default")
        except NotFound:
            return None

    async def nodes(self, name: str) -> int:
        found = await self.colony(name)
        return found["spec"]["clusters"][0]["pools"][0]["nodes"] if found else 0

    async def worked_off(self) -> bool:
        return await self.house.bus.unanswered(CONSUMER) == 0

    async def follows_none(self) -> bool:
        return self.book._known == {}

    async def until(self, true: Callable[[], Awaitable[bool]]) -> None:
        async with asyncio.timeout(10):
            while not await true():  # noqa: ASYNC110 - a real condition, looked at
                await asyncio.sleep(0.01)

    async def until_nodes(self, name: str, nodes: int) -> None:
        async def so() -> bool:
            return await self.nodes(name) == nodes

        await self.until(so)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    uids = count(1)
    bus = MemoryBus()
    async with AsyncExitStack() as stack:
        api = Api(MemoryJournal(), lambda: NOW, lambda: f"00000000-0000-0000-0000-{next(uids):012d}")
        await api.start()
        stack.push_async_callback(api.close)
        kube = Kube(LocalTransport(api, MANAGEMENT), random=lambda: 0.5)
        await seed(kube)
        house = await furnished(stack, bus, tmp_path, Rate(50.0, 200))
        book = CrdTriggers(kube, Here(), house.clock)
        triggers = TriggerLoop(house.context, Here(), book)
        intake = IntakeWorker(context(bus, house.clock, house.meters), kube)
        tasks = [asyncio.create_task(each.run()) for each in (book, triggers, intake)]
        stack.push_async_callback(ended, tasks)
        yield World(house, kube, book)


async def ended(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_a_workflow_run_has_a_cluster_of_its_own_until_it_is_completed(world: World):
    await world.follow("github-workflow.yaml")
    path = "/hooks/github/default/ci"
    await world.send(path, RUN, github)
    await world.until_nodes("ci-4711-1", 2)
    assert (await world.colony("ci-4711-1"))["spec"]["commit"] == f"github:acme/models@{SHA}"
    again = RUN | {"workflow_run": RUN["workflow_run"] | {"run_attempt": 2}}
    await world.send(path, again, lambda body: github(body, delivery="d-2"))
    await world.until_nodes("ci-4711-2", 2)
    await world.send(path, RUN | {"action": "completed"}, lambda body: github(body, delivery="d-3"))
    await world.until_nodes("ci-4711-1", 0)
    assert await world.nodes("ci-4711-2") == 2


async def test_a_merge_request_has_a_preview_cluster_for_its_life(world: World):
    await world.follow("gitlab-merge-request.yaml")

    def merge(action: str) -> Object:
        steps = MERGE["object_attributes"] | {"action": action}
        project = MERGE["project"] | {"id": 9}
        return MERGE | {"object_attributes": steps, "project": project, "labels": [{"title": "gpu-preview"}]}

    for number, (action, nodes) in enumerate([("open", 1), ("update", 1), ("merge", 0), ("reopen", 1), ("close", 0)]):
        proof = lambda body, name=f"m-{number}": standard(body, name=name)  # noqa: E731 - one per step
        await world.send("/hooks/gitlab/default/reviews", merge(action), proof)
        await world.until_nodes("mr-9-7", nodes)


async def test_an_alert_makes_a_pool_larger_and_its_end_smaller_again(world: World):
    await world.follow("alertmanager.yaml")
    alert = ALERTS | {"commonLabels": {"alertname": "QueueLong"}}
    path = "/hooks/alertmanager/default/queue"
    await world.send(path, alert, bearer)
    await world.until_nodes("batch", 4)
    await world.send(path, alert | {"commonLabels": {"alertname": "QueueLong", "max_nodes": "6"}}, bearer)
    await world.until_nodes("batch", 6)
    await world.send(path, alert | {"status": "resolved"}, bearer)
    await world.until_nodes("batch", 1)


async def test_a_pipeline_run_has_a_cluster_from_when_it_is_queued_to_its_end(world: World):
    await world.follow("cdevents-pipeline-run.yaml")

    def says(predicate: str) -> Object:
        context = {"id": predicate, "type": f"dev.cdevents.pipelinerun.{predicate}.0.3.0"}
        return PIPELINE | {"context": PIPELINE["context"] | context}

    path = "/hooks/cdevents/default/pipelines"
    for predicate, nodes in (("queued", 1), ("started", 1), ("finished", 0)):
        await world.send(path, says(predicate), bearer)
        await world.until_nodes("run-run-9", nodes)
    assert await world.house.bus.count("INTAKE", ">") == 2


async def test_a_cluster_has_the_teams_tools_from_when_it_is_ready_to_its_release(world: World):
    await world.follow("cluster-tools.yaml")
    for event in ("provisioned", "ready"):
        await world.say(f"cluster.{event}.default.train-gpu")
    await world.say("cluster.ready.other.train-gpu")
    (profile,) = await world.until_profiles("tools-train-gpu")
    assert profile["spec"]["clusters"] == {"names": ["train-gpu"]}
    assert 'cluster: "train-gpu"' in profile["spec"]["addons"][0]["manifests"]
    assert profile["metadata"]["labels"] == {"alate.dev/origin": "trigger-cluster-tools"}
    assert profile["metadata"]["annotations"]["alate.dev/expires-at"] == "2026-01-08T12:00:00Z"
    await world.say("cluster.released.default.train-gpu")
    await world.until_profiles()


async def test_a_count_of_accelerators_that_changed_is_checked_by_a_job(world: World):
    await world.follow("accelerator-check.yaml")
    for count_ in (0, 8):
        await world.say("inventory.cluster.default.train-gpu", uid="u", accelerators=count_)
        await asyncio.sleep(0.1)
    await world.until(lambda: world.has_profiles(1))
    (profile,) = await world.profiles()
    (addon,) = profile["spec"]["addons"]
    job = json.loads(addon["manifests"])
    assert (addon["mode"], job["kind"], job["metadata"]["name"]) == ("Once", "Job", profile["metadata"]["name"])


async def test_another_tenants_webhook_reaches_no_trigger(world: World):
    await world.follow("github-workflow.yaml")
    await world.send("/hooks/github/acme/ci", RUN, github)
    await world.send("/hooks/github/default/ci", RUN | {"zen": 1}, lambda body: github(body, delivery="d-2"))
    await world.until_nodes("ci-4711-1", 2)
    assert await world.house.bus.count("INTAKE", ">") == 1


async def test_a_trigger_that_cannot_be_read_says_so_in_its_status_and_is_not_followed(world: World):
    await world.follow("github-workflow.yaml")
    (trigger,) = yaml.safe_load_all((SHIPPED / "github-workflow.yaml").read_text())
    trigger["metadata"]["namespace"] = "default"
    trigger["spec"]["rules"][0]["when"] = "event.type =="
    await world.kube.apply(TRIGGERS, trigger, manager="kubectl")

    async def refused() -> bool:
        shown, *_ = (await world.kube.get(TRIGGERS, "github-workflow", "default"))["status"]["conditions"]
        return shown["status"] == "False" and "spec.rules[0].when is no CEL expression" in shown["message"]

    await world.until(refused)
    await world.send("/hooks/github/default/ci", RUN, github)
    await world.until(world.worked_off)
    assert await world.house.bus.count("INTAKE", ">") == 0


async def test_a_trigger_that_was_deleted_is_followed_no_more(world: World):
    await world.follow("github-workflow.yaml")
    await world.kube.delete(TRIGGERS, "github-workflow", "default")
    await world.until(world.follows_none)
    await world.send("/hooks/github/default/ci", RUN, github)
    await world.until(world.worked_off)
    assert await world.house.bus.count("INTAKE", ">") == 0


def test_every_example_is_told_here():
    told = Path(__file__).read_text()
    assert [each.name for each in SHIPPED.iterdir() if each.name not in told] == []
