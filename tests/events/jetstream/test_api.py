"""JetStream's answers are read right."""

import pytest

from events.errors import Denied
from events.jetstream.api import Place, Purged, Refused, call, direct, place
from events.jetstream.connection import dial
from events.jetstream.credentials import NOBODY

WHERE = Place(attempt=2, sequence=7, order=9, time=1700000000000000123, pending=4)


@pytest.mark.parametrize(
    "reply",
    [
        "$JS.ACK.EVENTS.work.2.7.9.1700000000000000123.4",
        "$JS.ACK._.ABCDEF.EVENTS.work.2.7.9.1700000000000000123.4",
        "$JS.ACK.hub.ABCDEF.EVENTS.work.2.7.9.1700000000000000123.4.xyz",
    ],
)
def test_a_place_is_read_from_every_form_of_the_reply_subject(reply):
    assert place(reply) == WHERE


@pytest.fixture
async def wire(nats_server):
    wire = await dial(nats_server.url, "test", NOBODY, 1.0)
    yield wire
    await wire.close()


async def test_a_refusal_says_what_was_refused_and_why(wire):
    with pytest.raises(Refused, match=r"JetStream refused STREAM\.PURGE\.NONE: stream not found") as no:
        await call(wire, "STREAM.PURGE.NONE", None, Purged)
    assert no.value.denied().reason == "JetStream10059"


async def test_a_query_the_server_does_not_understand_is_denied(wire):
    await call(wire, "STREAM.CREATE.S", {"name": "S", "subjects": ["s"], "allow_direct": True}, Purged)
    with pytest.raises(Denied, match="JetStream refused S: Empty Request"):
        await direct(wire, "S", {"seq": 0})
