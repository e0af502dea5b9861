"""The whole service on a real nats-server: receivers that fail, a bus that is restarted, and everything arrives."""

import asyncio
import json
import random
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

import pytest

from events.bus import Bus
from events.jetstream.bus import connect
from events.streams import REASON
from events.telemetry import Meters
from schemas.crds import InvalidResource
from services.outbound.outbox import DELIVERY_CONSUMER, OUTBOX_CONSUMER
from services.outbound.service import Outbound, Receivers
from services.runtime.context import Context
from tests.services.outbound import test_formats
from tests.services.outbound.receiver import receiving
from tests.services.outbound.world import SECRET, SHA, Folder, event, say


@asynccontextmanager
async def serving(bus: Bus, folder: Folder):
    receivers = Receivers(folder.file, folder.root)
    service = Outbound(Context(bus, lambda: datetime.now(UTC), random.random, Meters()), receivers)
    task = asyncio.create_task(service.run())
    try:
        await service.ready.wait()
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def settled(bus: Bus) -> None:
    """Until nothing is left to be told."""
    async with asyncio.timeout(40):
        while await bus.unanswered(OUTBOX_CONSUMER) or await bus.unanswered(DELIVERY_CONSUMER):  # noqa: ASYNC110 - looked at from outside
            await asyncio.sleep(0.05)


def is_signed(got) -> bool:
    name, stamp = got.headers["webhook-id"], got.headers["webhook-timestamp"]
    return got.headers["webhook-signature"] == test_formats.signed(SECRET, name, stamp, got.body)


async def test_a_cluster_that_is_ready_is_told_to_all_who_want_to_know(nats_server, tmp_path):
    folder, bus = Folder(tmp_path), await connect(nats_server.url, name="outbound")
    async with receiving() as receiver:
        folder.write(
            {"name": "ci", "format": "cloudevents", "url": f"{receiver.url}/ci"},
            {"name": "cde", "format": "cdevents", "url": f"{receiver.url}/cde"},
            {"name": "hub", "format": "github", "url": receiver.url},
        )
        folder.secret("hub", "ghs_token")
        async with serving(bus, folder):
            await say(bus, event("ready"))
            await settled(bus)
    await bus.close()
    by_path = {got.path: got for got in receiver.got}
    assert sorted(by_path) == ["/cde", "/ci", f"/repos/acme/models/statuses/{SHA}"]
    assert is_signed(by_path["/ci"])
    assert is_signed(by_path["/cde"])
    status = by_path[f"/repos/acme/models/statuses/{SHA}"]
    assert (json.loads(status.body)["state"], status.headers["Authorization"]) == ("success", "Bearer ghs_token")
    assert {got.headers["traceparent"][:2] for got in receiver.got} == {"00"}


async def test_what_fails_is_told_again_and_what_is_gone_is_a_dead_letter_without_a_secret(nats_server, tmp_path):
    folder, bus = Folder(tmp_path), await connect(nats_server.url, name="outbound")
    async with receiving() as good, receiving() as gone:
        good.answers.append((503, {}))
        gone.answers.append((410, {}))
        folder.write(
            {"name": "good", "format": "cloudevents", "url": good.url},
            {"name": "gone", "format": "cloudevents", "url": gone.url},
        )
        async with serving(bus, folder):
            await say(bus, event("ready"))
            await settled(bus)
    (letter,) = await bus.read("DLQ", "dlq.OUTBOUND.outbound-outbound")
    everything = [*await bus.read("DLQ", ">"), *await bus.read("OUTBOUND", ">")]
    await bus.close()
    assert len({got.headers["webhook-id"] for got in good.got}) == 1
    assert len(good.got) == 2
    assert letter.headers[REASON] == "target gone answered 410"
    assert not [each for each in everything if SECRET in f"{each.data!r}{each.headers}"]


@pytest.mark.parametrize("times", [3])
async def test_a_bus_that_is_killed_and_a_service_that_is_killed_lose_nothing(nats_server, tmp_path, times):
    folder = Folder(tmp_path)
    speaker, bus = [await connect(nats_server.url, name=name) for name in ("provisioning", "outbound")]
    said = 0
    async with receiving() as receiver:
        folder.write({"name": "ci", "format": "cloudevents", "url": receiver.url})
        for _ in range(times):
            async with serving(bus, folder):
                for _ in range(20):
                    said += 1
                    await say(speaker, event("launching", said))
                await nats_server.kill()
                await nats_server.start()
                said += 1
                await say(speaker, event("launching", said))
            # Told to leave at any moment: what was not answered comes again.
        async with serving(bus, folder), asyncio.timeout(50):
            while len({got.headers["webhook-id"] for got in receiver.got}) < said:  # noqa: ASYNC110 - looked at from outside
                await asyncio.sleep(0.05)
    for each in (speaker, bus):
        await each.close()
    assert len({got.headers["webhook-id"] for got in receiver.got}) == said
    assert all(is_signed(got) for got in receiver.got)


async def test_a_damaged_file_of_targets_is_refused_at_the_start(tmp_path):
    (tmp_path / "targets.yaml").write_text("targets: 1")
    with pytest.raises(InvalidResource, match="targets is 1: must be a list"):
        Outbound(Context(None, None, None, Meters()), Receivers(tmp_path / "targets.yaml"))
