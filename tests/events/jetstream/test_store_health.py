"""What could not be stored is said until something could, stream by stream, and never for ever."""

import asyncio

import pytest

from events.bus import Conflict, Message, Unavailable
from events.errors import Denied
from events.jetstream.bus import connect
from events.jetstream.store_health import COUNTS, Storing


class Held:
    """What a `Storing` sees of its bus."""

    def __init__(self):
        self.now, self.connection = 100.0, 0
        self.storing = Storing(lambda: self.now, lambda: self.connection)

    @property
    def trouble(self):
        return self.storing.trouble

    def fails(self, subject, fault=None):
        fault = fault or Unavailable("no answer")
        with pytest.raises(type(fault)), self.storing.noting(subject):
            raise fault

    def stores(self, subject):
        with self.storing.noting(subject):
            pass


@pytest.fixture
def held():
    return Held()


def test_what_is_not_stored_is_trouble_until_the_same_stream_stores_anything(held):
    assert held.trouble == ""
    held.fails("cluster.ready.acme.train")
    held.stores("inventory.nodes.acme.train")
    held.stores("cluster.requested.acme")  # another stream's
    assert held.trouble == "the bus does not store EVENTS: no answer"
    held.stores("timer.addon.acme.train")
    assert held.trouble == ""


def test_of_a_stream_that_is_not_in_the_table_the_subjects_are_named(held):
    held.fails("kube.mgmt.core.pods.acme.train")
    assert held.trouble == "the bus does not store kube.>: no answer"
    held.stores("kube.other")
    assert held.trouble == ""


@pytest.mark.parametrize("answer", [Conflict(1), Denied("too large")])
def test_a_refusal_is_an_answer(held, answer):
    held.fails("cluster.ready.acme.train")
    held.fails("cluster.ready.acme.train", answer)
    assert held.trouble == ""


def test_a_new_connection_begins_without_trouble(held):
    held.fails("hook.github.acme.push.1")
    held.connection += 1
    assert held.trouble == ""
    held.fails("hook.github.acme.push.1")
    assert held.trouble == "the bus does not store HOOKS: no answer"


def test_what_nobody_tries_again_is_trouble_for_a_while_only(held):
    held.fails("hook.github.acme.push.1")
    held.now += COUNTS - 1
    assert held.trouble
    held.now += 1
    assert held.trouble == ""


def test_what_is_tried_again_stays_trouble(held):
    for _ in range(10):
        held.fails("cluster.ready.acme.train")
        held.now += COUNTS - 1
        assert held.trouble


async def test_once_a_server_is_back_one_publish_that_failed_meanwhile_is_no_trouble(nats_server):
    bus = await connect(nats_server.url, name="test")
    try:
        await nats_server.kill()
        with pytest.raises(Unavailable):
            await bus.publish(Message("hook.github.acme.push.1", b""), within=0.2)
        assert bus.trouble.startswith("the bus does not store HOOKS: NATS at ")
        await nats_server.start()
        async with asyncio.timeout(20):
            while bus.trouble:  # noqa: ASYNC110 - another task's state
                await asyncio.sleep(0.05)
    finally:
        await bus.close()
