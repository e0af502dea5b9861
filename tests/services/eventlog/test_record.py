import json
from datetime import UTC, datetime

import pytest

from events.bus import Stored
from services.eventlog.record import EventRecord, read
from tests.corpus import RELEASES, corpus

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("release", RELEASES)
def test_a_line_of_json_says_the_whole_message(release):
    for each in corpus(release):
        assert read(each.line().encode()) == each


def test_the_event_is_in_cloudevents_own_json_format():
    stored = Stored("cluster.ready.acme.x", b'{"a": 1}', {"ce-id": "1", "ce-source": "/s%20x", "x": "y"}, 7, AT)
    item = json.loads(EventRecord("EVENTS", stored).line())
    assert item["event"] == {"id": "1", "source": "/s x", "data": {"a": 1}}
    assert (item["headers"], item["subject"], item["sequence"]) == ({"x": "y"}, "cluster.ready.acme.x", 7)


@pytest.mark.parametrize("data", [b"\xff", b"{", b"[" * 100_000, b"hello", b'"\xff"', b'{"a":\n1}'])
def test_what_is_no_json_of_one_line_is_shown_as_bytes(data):
    item = json.loads(EventRecord("INTAKE", Stored("cluster.requested", data, {}, 1, AT)).line())
    assert set(item["event"]) == {"data_base64"}
    assert read(json.dumps(item).encode()).stored.data == data


def test_an_attribute_that_is_badly_escaped_is_shown_as_it_came():
    item = EventRecord("INTAKE", Stored("cluster.requested", b"{}", {"ce-id": "100%"}, 1, AT)).item()
    assert item["event"]["id"] == "100%"


@pytest.mark.parametrize(
    ("subject", "names"),
    [
        ("cluster.ready.acme.train-gpu", {"tenant": "acme", "name": "train-gpu"}),
        ("inventory.nodes.acme.train-gpu.n_2E1", {"tenant": "acme", "cluster": "train-gpu", "node": "n.1"}),
        ("cluster.requested", {}),
        ("somebody.elses", {}),
    ],
)
def test_the_names_in_a_subject_are_those_of_its_template(subject, names):
    assert EventRecord("EVENTS", Stored(subject, b"")).names == names
