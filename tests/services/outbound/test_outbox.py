"""Every event becomes one message for each target that is to be told, once."""

import asyncio
from contextlib import asynccontextmanager, suppress

import pytest

from events.bus import Message, Unavailable
from events.memory.bus import MemoryBus, wall_clock
from events.streams import REASON
from events.telemetry import Meters
from services.outbound.outbox import OUTBOX_CONSUMER, Outbox
from services.outbound.targets import TargetFile
from services.runtime.context import Context
from tests.services.outbound.world import SHA, Folder, event, say, wish

pytestmark = pytest.mark.looptime
HOOK = {"name": "ci", "format": "cloudevents", "url": "https://ci.example.com"}
HUB = {"name": "hub", "format": "github", "url": "https://api.github.com"}
CDE = {"name": "cde", "format": "cdevents", "url": "https://cde.example.com"}


@asynccontextmanager
async def filled(bus: MemoryBus, folder: Folder):
    context = Context(bus, wall_clock, lambda: 0.0, Meters())
    task = asyncio.create_task(Outbox(context, TargetFile(folder.file, folder.root)).run())
    try:
        yield
        while await bus.unanswered(OUTBOX_CONSUMER):  # noqa: ASYNC110 - as others look at it, from outside
            await asyncio.sleep(0.1)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def kept(bus: MemoryBus) -> list[str]:
    return [stored.subject for stored in await bus.read("OUTBOUND", ">")]


async def test_each_target_gets_what_it_is_to_be_told_and_no_more(tmp_path):
    bus, folder = MemoryBus(), Folder(tmp_path)
    folder.write(HOOK | {"events": ["teardown.*"]}, HUB, CDE, CDE | {"name": "foreign", "tenant": "other"})
    async with filled(bus, folder):
        await say(bus, event("launching"))
        await say(bus, event("ready", 2, wish=wish(f"gitlab:acme/models@{SHA}")))
        await say(bus, event("gone", domain="teardown"))
    assert await kept(bus) == [
        "outbound.hub.cluster.launching.acme.train-gpu",
        "outbound.cde.cluster.ready.acme.train-gpu",
        "outbound.ci.teardown.gone.acme.train-gpu",
    ]


async def test_an_event_that_is_heard_again_for_want_of_an_answer_is_kept_once(tmp_path, monkeypatch):
    bus, folder = MemoryBus(), Folder(tmp_path)
    folder.write(HOOK)
    await say(bus, event("ready"))
    publish, lost = bus.publish, ["an answer"]

    async def unheard(*what, **how):
        sequence = await publish(*what, **how)
        if lost:
            raise Unavailable(lost.pop())
        return sequence

    monkeypatch.setattr(bus, "publish", unheard)
    async with filled(bus, folder):
        pass
    (kept_once,) = await bus.read("OUTBOUND", ">")
    assert (kept_once.headers["ce-id"], kept_once.data) == (event("ready").id, event("ready").data)
    assert lost == []


async def test_an_event_that_cannot_be_read_is_a_dead_letter_with_its_reason(tmp_path):
    bus, folder = MemoryBus(), Folder(tmp_path)
    folder.write(HUB)
    async with filled(bus, folder):
        await bus.publish(Message("cluster.ready.acme.x", b"?", {}))
        await say(bus, event("ready"))
    assert await kept(bus) == ["outbound.hub.cluster.ready.acme.train-gpu"]
    (letter,) = await bus.read("DLQ", ">")
    assert letter.headers[REASON].startswith("cluster.ready.acme.x #1: ")


async def test_where_nobody_is_to_be_told_nothing_is_kept(tmp_path):
    bus, folder = MemoryBus(), Folder(tmp_path)
    folder.write()
    async with filled(bus, folder):
        await say(bus, event("ready"))
    assert await kept(bus) == []


async def types(bus: MemoryBus, target: str) -> list[str]:
    return [stored.headers["ce-type"] for stored in await bus.read("OUTBOUND", f"outbound.{target}.>")]


async def test_a_cluster_is_told_to_be_ready_once_each_time_it_becomes_so(tmp_path):
    bus, folder = MemoryBus(), Folder(tmp_path)
    folder.write(HOOK | {"events": ["cluster.ready"]}, HOOK | {"name": "every"}, CDE)
    async with filled(bus, folder):
        await say(bus, event("ready"))
        await say(bus, event("ready", 2, nodes=2))  # a recount
        await say(bus, event("hibernated", 3))
        await say(bus, event("ready", 4))
    ready, changed = "dev.alate.cluster.ready", "dev.alate.cluster.changed"
    assert await types(bus, "ci") == [ready, ready]
    assert await types(bus, "every") == [ready, changed, "dev.alate.cluster.hibernated", ready]
    assert await types(bus, "cde") == [ready] * 3


async def test_a_deletion_does_not_begin_with_another_ready(tmp_path):
    bus, folder = MemoryBus(), Folder(tmp_path)
    folder.write(HOOK | {"events": ["cluster.ready", "cluster.releasing"]})
    folder.write(
        HOOK | {"events": ["cluster.ready", "cluster.releasing"]},
        HOOK | {"name": "changes", "events": ["cluster.changed"]},
    )
    async with filled(bus, folder):
        await say(bus, event("ready"))
        await say(bus, event("ready", 2, wish=wish() | {"deleting": True}))
        await say(bus, event("releasing", 3))
    assert await types(bus, "ci") == ["dev.alate.cluster.ready", "dev.alate.cluster.releasing"]
    assert await types(bus, "changes") == ["dev.alate.cluster.changed"]


async def test_of_two_clusters_each_becomes_ready_for_itself(tmp_path):
    bus, folder = MemoryBus(), Folder(tmp_path)
    folder.write(HOOK)
    async with filled(bus, folder):
        await say(bus, event("ready"))
        headers = {"ce-specversion": "1.0", "ce-id": "o", "ce-source": "/o", "ce-type": "dev.alate.cluster.ready"}
        await bus.publish(Message("cluster.ready.acme.other", event("ready").data, headers))
    assert await types(bus, "ci") == ["dev.alate.cluster.ready"] * 2
