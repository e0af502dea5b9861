"""A requested AddonProfile is created, changed, withdrawn and ends by its time; what is of others is never touched."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from events.bus import Message
from events.cloudevents import CloudEvent, encode
from events.errors import NotFound
from events.kube.client import Kube, Object
from events.kube.resources import ADDONPROFILES, TRIGGERS
from events.memory.bus import MemoryBus
from events.streams import REASON
from services.gateway.intake import CONSUMER, IntakeWorker
from services.gateway.profile_expiry import ProfileExpiry
from services.sandbox.api.server.app import MANAGEMENT, Api
from services.sandbox.api.server.local import LocalTransport
from services.sandbox.api.store.journal import MemoryJournal
from services.sandbox.seeds.plant import seed
from tests.context import context
from tests.services.edge.triggers.test_profiles import ADDONS

pytestmark = pytest.mark.looptime

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
SPEC = {"clusters": {"names": ["train-gpu"]}, "addons": ADDONS}
ASKED = {"tenant": "default", "name": "tools", "spec": SPEC, "origin": "trigger-t"}
WITHDRAWN = {"tenant": "default", "name": "tools", "origin": "trigger-t"}


def clock() -> datetime:
    return EPOCH + timedelta(seconds=asyncio.get_running_loop().time())


class House:
    def __init__(self, bus: MemoryBus, kube: Kube) -> None:
        self.bus, self.kube = bus, kube
        self._numbers = count(1)

    async def send(self, subject: str, request: Object) -> str:
        """Publish a request; returns why the last one that was refused was."""
        event = CloudEvent(id=f"e{next(self._numbers)}", source="/triggers/default/t", type="x", time=clock(),
                           data=json.dumps(request).encode())  # fmt: skip
        headers, body = encode(event)
        await self.bus.publish(Message(subject, body, headers))
        await asyncio.sleep(0.1)
        letters = await self.bus.read("DLQ", ">")
        return letters[-1].headers[REASON] if letters else ""

    async def ask(self, **more: object) -> str:
        return await self.send("profile.requested.default", ASKED | more)

    async def withdraw(self, **more: object) -> str:
        return await self.send("profile.withdraw.default.tools", WITHDRAWN | more)

    async def profile(self) -> Object | None:
        try:
            return await self.kube.get(ADDONPROFILES, "tools", "default")
        except NotFound:
            return None

    async def made_by_hand(self, **meta: object) -> None:
        wanted = {"metadata": {"name": "tools", "namespace": "default"} | meta, "spec": SPEC}
        await self.kube.create(ADDONPROFILES, wanted)


@pytest.fixture
async def house() -> AsyncIterator[House]:
    uids = count(1)
    bus = MemoryBus(clock=clock)
    async with AsyncExitStack() as stack:
        api = Api(MemoryJournal(), clock, lambda: f"00000000-0000-0000-0000-{next(uids):012d}")
        await api.start()
        stack.push_async_callback(api.close)
        kube = Kube(LocalTransport(api, MANAGEMENT), random=lambda: 0.5)
        await seed(kube)
        works = (IntakeWorker(context(bus, clock), kube), ProfileExpiry(kube, context(bus, clock)))
        tasks = [asyncio.create_task(each.run()) for each in works]
        yield House(bus, kube)
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def test_a_request_becomes_a_profile_that_says_where_it_came_from(house: House):
    assert await house.ask(expiresAfter="6h") == ""
    profile = await house.profile()
    assert profile is not None
    assert profile["metadata"]["labels"] == {"alate.dev/origin": "trigger-t"}
    notes = profile["metadata"]["annotations"]
    assert notes["alate.dev/event-id"] == "e1"
    assert notes["alate.dev/expires-at"].startswith("2026-01-01T06:00:0")
    assert profile["spec"]["clusters"] == {"names": ["train-gpu"]}


async def test_a_profile_is_changed_and_withdrawn_by_its_origin(house: House):
    await house.ask()
    await house.ask(spec=SPEC | {"priority": 7})
    assert (await house.profile() or {})["spec"]["priority"] == 7
    assert await house.withdraw() == ""
    assert await house.profile() is None
    assert await house.withdraw() == ""


@pytest.mark.parametrize("labels", [{}, {"alate.dev/origin": "trigger-other"}])
async def test_a_profile_of_another_origin_is_neither_changed_nor_withdrawn(house: House, labels):
    await house.made_by_hand(labels=labels)
    before = await house.profile()
    assert "AddonProfile tools is of origin" in await house.ask(spec=SPEC | {"priority": 7})
    assert "not of trigger-t" in await house.withdraw()
    assert await house.profile() == before


async def trigger(house: House) -> dict[str, str]:
    """A Trigger, as its requests name it."""
    rules = [{"name": "a", "when": "true", "then": "Withdraw"}]
    wanted = {"metadata": {"name": "t", "namespace": "default"}, "spec": {"name": "tools", "rules": rules}}
    made = (await house.kube.create(TRIGGERS, wanted))["metadata"]
    return {"name": made["name"], "uid": made["uid"]}


async def test_a_profile_is_deleted_with_the_trigger_that_requested_it(house: House):
    assert await house.ask(trigger=await trigger(house)) == ""
    await house.made_by_hand(name="other")
    await asyncio.sleep(5)
    assert await house.profile() is not None
    await house.kube.delete(TRIGGERS, "t", "default")
    await asyncio.sleep(5)
    assert await house.profile() is None
    assert await house.kube.get(ADDONPROFILES, "other", "default")


async def test_a_request_of_a_trigger_that_is_deleted_already_leaves_no_profile(house: House):
    requested = await trigger(house)
    await house.kube.delete(TRIGGERS, "t", "default")
    assert await house.ask(trigger=requested) == ""
    await asyncio.sleep(5)
    assert await house.profile() is None


async def test_a_profile_belongs_to_the_trigger_that_asked_last(house: House):
    await house.ask(trigger=await trigger(house))
    await house.kube.delete(TRIGGERS, "t", "default", propagation="Orphan")
    await asyncio.sleep(5)
    again = await trigger(house)
    await house.ask(trigger=again)
    (owner,) = (await house.profile() or {})["metadata"]["ownerReferences"]
    assert owner["uid"] == again["uid"]


async def test_a_request_that_is_fulfilled_after_its_withdrawal_creates_nothing(house: House):
    await house.ask()
    await house.withdraw()
    first, _ = await house.bus.read("INTAKE", ">")
    found = await anext(aiter(house.bus.consume(CONSUMER.__class__("other", "INTAKE", ("profile.requested.*",)))))
    assert found.stored.sequence == first.sequence
    await IntakeWorker(context(house.bus, clock), house.kube)._handle(found)
    assert await house.profile() is None


async def test_a_request_waits_while_the_profile_before_it_is_being_deleted(house: House):
    await house.made_by_hand(labels={"alate.dev/origin": "trigger-t"}, finalizers=["alate.dev/addons"])
    await house.withdraw()
    going = await house.profile()
    assert await house.ask(spec=SPEC | {"priority": 7}) == ""
    await asyncio.sleep(30)
    assert await house.profile() == going
    await house.kube.patch(ADDONPROFILES, "tools", "default", {"metadata": {"finalizers": None}})
    await asyncio.sleep(120)
    assert (await house.profile() or {})["spec"]["priority"] == 7


async def test_a_profile_is_deleted_when_its_time_is_over_and_later_requests_extend_it(house: House):
    await house.ask(expiresAfter="2h")
    await asyncio.sleep(3600)
    await house.ask(expiresAfter="2h")
    await asyncio.sleep(3600 + 60)
    assert await house.profile() is not None
    await asyncio.sleep(3600)
    assert await house.profile() is None


async def test_a_profile_without_a_time_is_kept(house: House):
    await house.made_by_hand(annotations={"alate.dev/expires-at": "tomorrow"})
    await asyncio.sleep(86_400)
    assert await house.profile() is not None


async def test_the_time_of_a_profile_is_kept_over_a_restart(house: House):
    await house.ask(expiresAfter="2h")
    again = asyncio.create_task(ProfileExpiry(house.kube, context(house.bus, clock)).run())
    await asyncio.sleep(7300)
    again.cancel()
    assert await house.profile() is None


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"tenant": "other"}, "the subject is of tenant default, the request of other: must be equal"),
        ({"spec": {"addons": [{"name": "a"}]}}, "must have one of manifests, source and catalog"),
        ({"expiresAfter": "soon"}, "expiresAfter is 'soon': must be a duration such as 90s or 1h30m"),
        ({"more": 1}, "more"),
    ],
)
async def test_a_request_that_can_never_be_fulfilled_is_a_dead_letter(house: House, more, why):
    assert why in await house.ask(**more)
    assert await house.profile() is None
