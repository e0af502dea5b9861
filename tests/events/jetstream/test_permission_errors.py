"""What the server refuses has a name, says who and where, and comes at once."""

import asyncio
from contextlib import aclosing

import pytest
from nats.errors import Error

from events.bus import Consumer, Message, Unavailable
from events.errors import Denied
from events.jetstream.bus import connect
from events.jetstream.credentials import NkeyCredentials
from events.jetstream.requests import Refusal, refusal
from events.jetstream.server import NatsServer

RIGHTS = """
authorization { users: [
  { user: admin, password: p }
  { user: some, password: p, permissions: {
    publish: { allow: ["cluster.a.*.*", "$JS.API.CONSUMER.INFO.EVENTS.*", "$JS.API.DIRECT.GET.EVENTS"] }
    subscribe: { allow: ["_INBOX_some.>"] } } }
] }
"""
LATE = 0.9
"""Less than any time-out: what takes longer was not told but guessed."""


@pytest.fixture
async def server(tmp_path):
    async with NatsServer(tmp_path, extra=RIGHTS) as server:
        admin = await connect(server.url, name="admin", credentials=NkeyCredentials("admin", "p"))
        await admin.unanswered(Consumer("work", "EVENTS", ("cluster.>",)))
        yield server
        await admin.close()


@pytest.fixture
async def some(server):
    bus = await connect(server.url, name="some", streams=(), credentials=NkeyCredentials("some", "p"))
    yield bus
    await bus.close()


async def test_a_publish_that_is_allowed_is_stored(some):
    assert await some.publish(Message("cluster.a.t.x", b"")) == 1


async def test_a_publish_that_is_not_is_denied_at_once_in_one_sentence(some):
    async with asyncio.timeout(LATE):
        with pytest.raises(Denied) as told:
            await some.publish(Message("cluster.b.t.x", b""))
    assert told.value.reason == "Permissions"
    assert "does not allow some to publish on cluster.b.t.x: the key it shows has no such right" in str(told.value)
    assert "\n" not in str(told.value)


async def test_every_question_on_a_refused_subject_is_denied_and_no_other(some):
    asked = [some.publish(Message(subject, b"")) for subject in ("cluster.b.t.x", "cluster.a.t.x", "cluster.b.t.x")]
    one, two, three = await asyncio.gather(*asked, return_exceptions=True)
    assert isinstance(one, Denied)
    assert isinstance(three, Denied)
    assert two == 1


async def test_an_operation_of_the_api_that_is_not_allowed_is_denied(some):
    with pytest.raises(Denied, match=r"publish on \$JS\.API\.STREAM\.PURGE\.EVENTS"):
        await some.purge("EVENTS", "cluster.>")


async def test_a_consumer_that_may_be_seen_and_not_pulled_from_does_not_wait_for_ever(some, monkeypatch):
    monkeypatch.setattr("events.jetstream.pull.HEARTBEAT", 0.1)
    consumer = Consumer("work", "EVENTS", ("cluster.>",))
    async with asyncio.timeout(5), aclosing(some.consume(consumer)) as deliveries:
        with pytest.raises(Denied, match=r"publish on \$JS\.API\.CONSUMER\.MSG\.NEXT\.EVENTS\.work"):
            await anext(deliveries)


async def test_an_inbox_under_another_name_is_denied_and_says_so(server):
    bus = await connect(server.url, name="other", streams=(), credentials=NkeyCredentials("some", "p"), patience=1.0)
    async with asyncio.timeout(LATE):
        with pytest.raises(Denied, match=r"does not allow other to listen to _INBOX_other\."):
            await bus.publish(Message("cluster.a.t.x", b""))
    await bus.close()


async def test_an_inbox_of_another_name_can_be_set(server):
    shown = NkeyCredentials("some", "p", inbox="_INBOX_some")
    bus = await connect(server.url, name="other", streams=(), credentials=shown)
    assert await bus.publish(Message("cluster.a.t.x", b"")) == 1
    await bus.close()


async def test_jetstream_elsewhere_is_asked_there(server):
    shown = NkeyCredentials("admin", "p", api="JS.API")
    bus = await connect(server.url, name="admin", streams=(), credentials=shown, patience=0.2)
    with pytest.raises(Unavailable, match=r"no answer on JS\.API\.DIRECT\.GET\.EVENTS: nothing answers there"):
        await bus.last("EVENTS", "cluster.>")
    await bus.close()


def test_what_is_no_refusal_is_none():
    assert refusal(Error("nats: 'Authorization Violation'")) is None
    assert refusal(Error('nats: permissions violation for publish to "a.b"')) == Refusal(listening=False, subject="a.b")
