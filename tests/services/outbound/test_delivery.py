"""What lies in the outbox reaches its target: in order per cluster, again for about a day, then a dead letter."""

import asyncio
import json
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from itertools import pairwise

import msgspec
import pytest

from events.bus import Message
from events.cloudevents import encode
from events.errors import TryLater
from events.memory.bus import MemoryBus
from events.meters import OUTBOUND
from events.streams import REASON, SUBJECT, Redrive, publish_once, redriven
from events.telemetry import Meters
from schemas import addon, cluster
from schemas.subjects import Key
from services.outbound.outbox import DELIVERY_CONSUMER, DeliveryWorker
from services.outbound.outcome import ReceiverResponse
from services.outbound.targets import TargetFile
from services.runtime.context import Context
from tests.services.gateway.known import is_, put_on
from tests.services.outbound.world import EPOCH, SECRET, SHA, Fake, Folder, event, say

pytestmark = pytest.mark.looptime
HOOK = {"name": "ci", "format": "cloudevents", "url": "https://ci.example.com"}
HUB = {"name": "hub", "format": "github", "url": "https://api.github.com"}


READY = is_(cluster.Ready)


def clock():
    return EPOCH + timedelta(seconds=asyncio.get_running_loop().time())


class Works:
    def __init__(self, root, *targets) -> None:
        self.bus = MemoryBus(clock=clock)
        self.meters = Meters()
        self.fake = Fake()
        self.folder = Folder(root)
        self.folder.write(*(targets or (HOOK,)))
        self.targets = TargetFile(self.folder.file, root)

    @asynccontextmanager
    async def running(self):
        context = Context(self.bus, clock, lambda: 1.0, self.meters)
        task = asyncio.create_task(DeliveryWorker(context, self.targets, self.fake.post).run())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def give(self, name: str, number: int = 1, target: str = "ci", cluster: str = "train-gpu") -> None:
        headers, data = encode(event(name, number))
        await self.bus.publish(Message(f"outbound.{target}.cluster.{name}.acme.{cluster}", data, headers))

    async def brought(self) -> None:
        while await self.bus.unanswered(DELIVERY_CONSUMER):  # noqa: ASYNC110 - as others look at it, from outside
            await asyncio.sleep(10)

    async def reasons(self) -> list[str]:
        return [stored.headers[REASON] for stored in await self.bus.read("DLQ", ">")]

    def outcomes(self) -> dict[str, int]:
        return dict(self.meters.counts(OUTBOUND))


async def test_what_is_taken_is_brought_once(tmp_path):
    works = Works(tmp_path)
    async with works.running():
        await works.give("ready")
        await works.brought()
    assert works.fake.ids == [event("ready").id]
    assert works.outcomes() == {"ci.delivered": 1}


@pytest.mark.parametrize("trouble", [ReceiverResponse(500), ReceiverResponse(401), TryLater("no answer in 10 s")])
async def test_what_is_not_taken_is_brought_again_under_the_same_id_ever_less_often(tmp_path, trouble):
    works = Works(tmp_path)
    works.fake.answers.extend([trouble, trouble, trouble])
    async with works.running():
        await works.give("ready")
        await works.brought()
    assert clock() - EPOCH >= timedelta(seconds=5 + 10 + 20)
    assert len({each.headers["webhook-id"] for each in works.fake.got}) == 1
    stamps = [int(each.headers["webhook-timestamp"]) - int(EPOCH.timestamp()) for each in works.fake.got]
    assert [b - a for a, b in pairwise(stamps)] == [5, 10, 20]
    assert works.outcomes() == {"ci.again": 3, "ci.delivered": 1}


async def test_a_receiver_that_asks_for_rest_gets_it(tmp_path):
    works = Works(tmp_path)
    works.fake.answers.append(ReceiverResponse(429, "600"))
    async with works.running():
        await works.give("ready")
        await works.brought()
    first, second = (int(each.headers["webhook-timestamp"]) for each in works.fake.got)
    assert second - first == 600


async def test_what_is_never_taken_is_a_dead_letter_after_about_a_day(tmp_path):
    works = Works(tmp_path)
    works.fake.answers.extend([ReceiverResponse(503)] * 99)
    async with works.running():
        await works.give("ready")
        await works.brought()
    assert len(works.fake.got) == DELIVERY_CONSUMER.max_deliver
    assert timedelta(hours=18) < clock() - EPOCH < timedelta(hours=30)
    assert await works.reasons() == ["target ci: answered 503, and so 16 times"]
    assert works.outcomes() == {"ci.again": 15, "ci.dead": 1}


@pytest.mark.parametrize("status", [302, 400, 413, 422])
async def test_what_can_never_be_taken_is_a_dead_letter_at_once(tmp_path, status):
    works = Works(tmp_path)
    works.fake.answers.append(ReceiverResponse(status))
    async with works.running():
        await works.give("ready")
        await works.brought()
    assert await works.reasons() == [f"target ci answered {status}"]


async def test_a_dead_letter_that_is_redriven_is_brought_under_its_own_id(tmp_path):
    works = Works(tmp_path)
    works.fake.answers.append(ReceiverResponse(422))
    async with works.running():
        await works.give("ready")
        await works.brought()
        (letter,) = await works.bus.read("DLQ", ">")
        to = Redrive(DELIVERY_CONSUMER.stream, DELIVERY_CONSUMER.name, "1")
        await publish_once(works.bus, redriven(letter, to, letter.headers[SUBJECT]))
        await works.brought()
    first, second = works.fake.got
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert works.outcomes() == {"ci.dead": 1, "ci.delivered": 1}


async def test_who_is_gone_is_asked_no_more_until_the_target_is_changed(tmp_path):
    works = Works(tmp_path)
    works.fake.answers.append(ReceiverResponse(410))
    async with works.running():
        for number in (1, 2):
            await works.give("ready", number)
            await works.brought()
        assert await works.reasons() == ["target ci answered 410", "target ci has said 410: it wants no more"]
        assert len(works.fake.got) == 1
        works.folder.write(HOOK | {"url": "https://new.example.com"})
        await works.give("ready", 3)
        await works.brought()
    assert [each.url for each in works.fake.got] == [HOOK["url"], "https://new.example.com"]


async def test_a_target_that_is_away_holds_up_no_other(tmp_path):
    works = Works(tmp_path, HOOK, HOOK | {"name": "other"})
    away = asyncio.Event()

    async def post(request):
        if not works.fake.got:
            works.fake.got.append(request)
            await away.wait()
        return await Fake.post(works.fake, request)

    works.fake.post = post
    async with works.running():
        await works.give("ready", 1)
        await works.give("ready", 2, target="other")
        await asyncio.sleep(1)
        assert works.outcomes() == {"other.delivered": 1}
        away.set()
        await works.brought()


async def test_one_cluster_is_told_of_in_order(tmp_path):
    works = Works(tmp_path)
    slow = works.fake.post

    async def post(request):
        await asyncio.sleep(3 if not works.fake.got else 0)
        return await slow(request)

    works.fake.post = post
    async with works.running():
        for number in range(1, 6):
            await works.give("launching", number)
        await works.brought()
    assert works.fake.ids == [event("x", number).id for number in range(1, 6)]


async def test_what_lies_too_long_behind_others_is_left_to_come_again(tmp_path):
    works = Works(tmp_path)
    slow = works.fake.post

    async def post(request):
        await asyncio.sleep(8)
        return await slow(request)

    works.fake.post = post
    async with works.running():
        for number in range(1, 9):
            await works.give("launching", number)
        await works.brought()
    assert sorted(works.fake.ids) == [event("x", number).id for number in range(1, 9)]


async def test_a_status_that_was_overtaken_is_told_no_more(tmp_path):
    works = Works(tmp_path, HUB)
    works.folder.secret("hub", "a token")
    works.fake.answers.append(ReceiverResponse(500))
    async with works.running():
        await say(works.bus, event("launching", 1))
        await works.give("launching", 1, target="hub")
        await asyncio.sleep(1)
        await say(works.bus, event("ready", 2))
        await works.give("ready", 2, target="hub")
        await works.brought()
    assert [json.loads(each.body)["state"] for each in works.fake.got] == ["pending", "success"]
    assert works.fake.got[-1].url.endswith(f"/repos/acme/models/statuses/{SHA}")
    assert works.outcomes() == {"hub.again": 1, "hub.delivered": 1, "hub.late": 1}


async def test_a_target_is_told_once_it_has_its_secret(tmp_path):
    works = Works(tmp_path)
    (tmp_path / "ci").unlink()
    async with works.running():
        await works.give("ready")
        await asyncio.sleep(1)
        assert works.fake.got == []
        works.folder.secret("ci", SECRET)
        await works.brought()
    assert works.outcomes() == {"ci.again": 1, "ci.delivered": 1}


async def test_a_target_that_was_taken_out_is_told_nothing(tmp_path):
    works = Works(tmp_path)
    works.folder.write()
    async with works.running():
        await works.give("ready")
        await works.brought()
    assert (works.fake.got, works.outcomes()) == ([], {"ci.unwanted": 1})


async def test_what_is_no_event_or_signed_with_a_damaged_secret_is_a_dead_letter(tmp_path):
    works = Works(tmp_path)
    works.folder.secret("ci", "whsec_?")
    async with works.running():
        await works.bus.publish(Message("outbound.ci.cluster.ready.acme.x", b"?", {"ce-id": "1"}))
        await works.give("ready")
        await works.brought()
    reasons = sorted(await works.reasons())
    assert any("specversion" in each for each in reasons)
    assert "target ci: what follows whsec_ is no base64" in reasons
    assert not [each for each in reasons if "whsec_?" in each]


ADDON = Key("addon", "acme", "train-a.driver")
CHAT = {"name": "team", "format": "apprise"}
URL = "discord://4174216298/t0ken0fThe5ervice"


def chat(works) -> None:
    works.folder.secret("team", URL)


async def test_a_text_is_sent_once_with_the_cost_of_the_cluster(tmp_path):
    works = Works(tmp_path, CHAT)
    chat(works)
    headers, _ = encode(event("ready"))
    ready = msgspec.json.encode(READY)
    await works.bus.publish(Message("cluster.ready.acme.train-gpu", ready, headers))
    async with works.running():
        await works.bus.publish(Message("outbound.team.cluster.ready.acme.train-gpu", ready, headers))
        await works.brought()
    (sent,) = works.fake.texts
    assert (sent.url, sent.text.title) == (URL, "Cluster train/a is ready")
    assert "USD per hour" in sent.text.body
    assert works.outcomes() == {"team.delivered": 1}


async def test_a_text_about_an_add_on_has_the_cost_of_its_cluster(tmp_path):
    works = Works(tmp_path, CHAT)
    chat(works)
    headers, _ = encode(event("ready"))
    await works.bus.publish(Message("cluster.ready.acme.train-a", msgspec.json.encode(READY), headers))
    async with works.running():
        degraded, _ = encode(event("degraded", domain="addon"))
        data = msgspec.json.encode(put_on(addon.Degraded))
        await works.bus.publish(Message(f"outbound.team.addon.degraded.{ADDON.path}", data, degraded))
        await works.brought()
    (sent,) = works.fake.texts
    assert sent.text.title == "Add-on driver on train/a is degraded"
    assert "USD per hour" in sent.text.body


@pytest.mark.parametrize("trouble", [ReceiverResponse(503), TryLater("no answer")])
async def test_a_text_that_is_not_taken_is_sent_again(tmp_path, trouble):
    works = Works(tmp_path, CHAT)
    chat(works)
    works.fake.answers.extend([trouble, trouble])
    async with works.running():
        await works.give("ready", target="team")
        await works.brought()
    assert works.outcomes() == {"team.again": 2, "team.delivered": 1}


async def test_an_address_that_apprise_cannot_use_is_a_dead_letter_and_in_no_log(tmp_path, capsys):
    works = Works(tmp_path, CHAT)
    chat(works)
    works.fake.answers.append(ValueError("its file of secrets holds no URL that apprise knows"))
    async with works.running():
        await works.give("ready", target="team")
        await works.brought()
    assert await works.reasons() == ["target team: its file of secrets holds no URL that apprise knows"]
    printed = capsys.readouterr()
    assert "t0ken" not in printed.out + printed.err


async def test_two_addresses_in_one_file_are_a_dead_letter_that_names_neither(tmp_path):
    works = Works(tmp_path, CHAT)
    works.folder.secret("team", URL, URL)
    async with works.running():
        await works.give("ready", target="team")
        await works.brought()
    (reason,) = await works.reasons()
    assert "must be one URL of apprise per target" in reason
    assert "t0ken" not in reason


async def test_a_fault_of_ours_stops_nobody_else(tmp_path):
    works = Works(tmp_path)
    works.fake.answers.append(RuntimeError("ours"))
    async with works.running():
        await works.give("ready", 1, cluster="a")
        await works.give("ready", 2, cluster="b")
        await works.brought()
    assert len(works.fake.got) == 3
    assert works.outcomes() == {"ci.delivered": 2}


async def test_a_restart_sends_nothing_that_was_taken(tmp_path):
    works = Works(tmp_path)
    async with works.running():
        await works.give("ready")
        await works.brought()
    async with works.running():
        await asyncio.sleep(1000)
    assert len(works.fake.got) == 1
