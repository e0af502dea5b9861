"""A fleet whose Triggers are followed: beside the add-on service the edge's rules and the gateway's requests run."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec

from events.errors import NotFound
from events.kube.client import Object
from events.kube.resources import ADDONPROFILES, CONFIGMAPS, TRIGGERS
from schemas.observed_object import ObjectSeen
from services.edge.triggers.crd_source import CrdTriggers
from services.edge.triggers.loop import TriggerLoop
from services.gateway.intake import IntakeWorker
from tests.context import context
from tests.services.addons.fleet import TENANT, Fleet, config_map, fleet, now
from tests.services.edge.here import Here

LARGE = {
    "name": "large",
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "namespace": "default",
    "when": "object.data.size == 'L'",
}
DEPLOY = {
    "name": "deploy", "when": "data.holds", "then": "Deploy",
    "profile": {"addons": [{"name": "probe", "manifests": config_map("probe", of="${data.name}")}]},
}  # fmt: skip
WITHDRAW = {"name": "withdraw", "when": "!data.holds", "then": "Withdraw"}


class TriggerStage:
    """What a tenant does with Triggers and objects, and what comes of it."""

    def __init__(self, made: Fleet) -> None:
        self.fleet = made
        self.tasks: list[asyncio.Task[None]] = []

    def follow(self) -> None:
        """Run the edge's Triggers and the gateway's intake."""
        made = context(self.fleet.bus, now)
        book = CrdTriggers(self.fleet.management, Here(), now)
        for each in (book, TriggerLoop(made, Here(), book), IntakeWorker(made, self.fleet.management)):
            self.tasks.append(asyncio.create_task(each.run()))

    async def leave(self) -> None:
        for task in self.tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        self.tasks.clear()

    async def trigger(
        self, *objects: Object, name: str = "sizes", rules: Any = (DEPLOY, WITHDRAW), **spec: Any
    ) -> None:
        document = {
            "metadata": {"name": name, "namespace": TENANT},
            "spec": {"name": "${data.cluster}-${data.name}", "objects": list(objects), "rules": list(rules), **spec},
        }
        await self.fleet.management.apply(TRIGGERS, document, manager="user")

    async def ready(self, name: str = "sizes") -> tuple[str, str, str]:
        """Status, reason and message of the condition Ready."""
        status = (await self.fleet.management.get(TRIGGERS, name, TENANT)).get("status", {})
        told = next((each for each in status.get("conditions", ()) if each["type"] == "Ready"), {})
        return told.get("status", ""), told.get("reason", ""), told.get("message", "")

    async def is_ready(self, name: str = "sizes") -> None:
        async def look() -> bool:
            return (await self.ready(name))[0] == "True"

        await self.fleet.until(look)

    async def is_not_ready(self, reason: str, name: str = "sizes") -> str:
        """Wait for the reason; gives the sentence."""

        async def look() -> bool:
            return (await self.ready(name))[:2] == ("False", reason)

        await self.fleet.until(look)
        return (await self.ready(name))[2]

    async def put(self, cluster: str, name: str, **data: str) -> None:
        """Write a ConfigMap into a cluster."""
        document = {"metadata": {"name": name, "namespace": "default"}, "data": data}
        await self.fleet.clusters[cluster].apply(CONFIGMAPS, document, manager="user")

    async def drop(self, cluster: str, name: str) -> None:
        await self.fleet.clusters[cluster].delete(CONFIGMAPS, name, "default")

    async def profiles(self) -> set[str]:
        return {each["metadata"]["name"] for each in (await self.fleet.management.list(ADDONPROFILES)).items}

    async def until_profiles(self, *names: str) -> None:
        async def look() -> bool:
            return await self.profiles() == set(names)

        await self.fleet.until(look)

    async def seen(self) -> list[ObjectSeen]:
        """What is published of objects now."""
        kept = await self.fleet.bus.read("LEVELS", "observed.object.>")
        return [msgspec.json.decode(each.data, type=ObjectSeen) for each in kept if each.data]

    async def requests(self) -> list[str]:
        """The subjects of all requests that were published."""
        return [each.subject for each in await self.fleet.bus.read("INTAKE", ">")]

    async def probe(self, cluster: str) -> str:
        """Of which object the add-on on a cluster is; empty: there is none."""
        with suppress(NotFound):
            return str((await self.fleet.clusters[cluster].get(CONFIGMAPS, "probe", "default"))["data"]["of"])
        return ""


@asynccontextmanager
async def trigger_stage(*clusters: str) -> AsyncIterator[TriggerStage]:
    """A stage with some clusters, whose services run."""
    async with fleet() as made:
        stage = TriggerStage(made)
        for name in clusters:
            await made.found(name)
        stage.follow()
        try:
            yield stage
        finally:
            await stage.leave()
