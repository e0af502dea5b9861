"""A recorded message is read as it was heard, alone or as `alate events get` shows it."""

import json

import pytest

from services.edge.triggers.sample import InvalidSample, bus_event

EVENT = {
    "specversion": "1.0",
    "id": "cluster.train-gpu.u.4",
    "source": "/alate/cluster/acme/train-gpu",
    "type": "dev.alate.cluster.ready",
    "subject": "acme/train-gpu",
    "data": {"uid": "u"},
}
RECORDED = {"stream": "EVENTS", "sequence": 4, "subject": "cluster.ready.acme.train-gpu", "headers": {}, "event": EVENT}


@pytest.mark.parametrize("written", [EVENT, RECORDED])
def test_a_recorded_message_is_heard_as_it_was(written):
    heard = bus_event(json.dumps(written).encode())
    assert heard is not None
    assert (heard.channel.subject, heard.event.id) == ("cluster.ready.acme.train-gpu", "cluster.train-gpu.u.4")
    assert heard.variables()["data"] == {"uid": "u"}


@pytest.mark.parametrize(
    "written",
    [
        {"zen": 1},
        EVENT | {"type": "com.github.push"},
        EVENT | {"type": "dev.alate.cluster.request"},
        EVENT | {"subject": "acme"},
    ],
)
def test_what_is_no_message_of_ours_is_left_to_the_webhooks(written):
    assert bus_event(json.dumps(written).encode()) is None


@pytest.mark.parametrize(
    ("written", "why"),
    [
        (RECORDED | {"event": {}}, "holds no CloudEvent in JSON"),
        (RECORDED | {"subject": "inventory.offers.aws.eu"}, "is no message that a Trigger hears: inventory.offers"),
    ],
)
def test_what_no_trigger_could_hear_says_why(written, why):
    with pytest.raises(InvalidSample, match=why):
        bus_event(json.dumps(written).encode())
