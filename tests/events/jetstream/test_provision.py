"""Streams and consumers of others are respected, ours are kept as the code says."""

import dataclasses

import pytest

from events.bus import Consumer
from events.errors import Denied
from events.jetstream.api import ConsumerInfo, StreamInfo, call
from events.jetstream.bus import connect
from events.jetstream.connection import dial
from events.jetstream.credentials import NOBODY
from events.jetstream.provision import amended, consumer_config, ensure_consumer, ensure_stream, stream_config
from events.jetstream.server import NatsServer
from events.streams import STREAMS, StreamSpec

LOG = StreamSpec("LOG", ("log.>",), max_age=600.0)


@pytest.fixture
async def wire(nats_server):
    wire = await dial(nats_server.url, "test", NOBODY, 5.0)
    yield wire
    await wire.close()


async def config(wire, name: str) -> dict[str, object]:
    return (await call(wire, f"STREAM.INFO.{name}", None, StreamInfo)).config


def test_what_agrees_is_left_alone():
    assert amended({"a": 1, "theirs": 2}, {"a": 1}) is None


def test_what_disagrees_is_amended_and_the_rest_is_theirs():
    assert amended({"a": 1, "theirs": 2}, {"a": 3, "b": 4}) == {"a": 3, "b": 4, "theirs": 2}


@pytest.mark.parametrize("spec", STREAMS, ids=lambda spec: spec.name)
async def test_a_stream_made_once_needs_no_second_word(wire, spec):
    await ensure_stream(wire, spec)
    assert amended(await config(wire, spec.name), stream_config(spec)) is None


async def test_a_changed_table_changes_the_stream_but_not_what_others_set(wire):
    await call(wire, "STREAM.CREATE.LOG", {**stream_config(LOG), "max_bytes": 1_000_000}, StreamInfo)
    await ensure_stream(wire, dataclasses.replace(LOG, max_age=1200.0))
    found = await config(wire, "LOG")
    assert (found["max_age"], found["max_bytes"]) == (1_200_000_000_000, 1_000_000)


async def test_a_stream_that_cannot_be_had_is_denied_with_the_servers_reason(wire):
    await ensure_stream(wire, LOG)
    with pytest.raises(Denied, match=r"STREAM\.CREATE\.TWIN: subjects overlap"):
        await ensure_stream(wire, dataclasses.replace(LOG, name="TWIN"))


async def test_a_consumer_made_once_needs_no_second_word(wire):
    consumer = Consumer("work", "LOG", ("log.a.>", "log.b"))
    await ensure_stream(wire, LOG)
    await ensure_consumer(wire, consumer)
    found = await call(wire, "CONSUMER.INFO.LOG.work", None, ConsumerInfo)
    assert amended(found.config, consumer_config(consumer)) is None


async def test_a_consumer_is_amended_when_its_filters_change(wire):
    await ensure_stream(wire, LOG)
    for filters in (("log.a",), ("log.a", "log.b"), ("log.c",)):
        info = await ensure_consumer(wire, Consumer("work", "LOG", filters))
        assert info.config["filter_subjects"] == [*filters, "redrive.LOG.work.>"]


async def test_every_stream_is_there_again_after_a_restart_of_its_server(tmp_path):
    async with NatsServer(tmp_path / "nats") as server:
        await (await connect(server.url, name="setup")).close()
        await server.kill()
        await server.start()
        bus = await connect(server.url, name="who may make none", streams=())
        assert [await bus.count(spec.name, ">") for spec in STREAMS] == [0] * len(STREAMS)
        await bus.close()
