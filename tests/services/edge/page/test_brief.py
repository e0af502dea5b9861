from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.bus import Stored
from services.edge.page.brief import brief, change, lane_of, lanes
from tests.corpus import corpus

LOT = {"accelerator": "H100", "accelerators_per_node": 8, "nodes": 2, "price_per_hour": 20.5}
READY = {"since": "2026-01-01T00:00:00Z", "attempt": {"placement": {"cloud": "aws", "region": "r1", "lots": [LOT]}}}


def test_every_message_of_a_real_run_has_a_lane():
    known = {row.lane for row in lanes()}
    assert {lane_of(said.stream, said.stored.subject) for said in corpus("0.1.0")} <= known


def test_a_clusters_state_says_what_it_costs_and_where_it_is():
    told = change("cluster", "ready", "acme", "train", msgspec.json.encode(READY))
    assert (told.state, told.price, told.place, told.machines) == ("ready", 41.0, "aws r1", "2 x 8 H100")


def test_a_clusters_state_says_what_it_has_cost_and_until_when_that_is_so():
    told = change("cluster", "ready", "acme", "train", b'{"cost_usd":3.5,"billed_since":"2026-01-01T00:00:00Z"}')
    assert (told.cost, told.billed_since) == (3.5, datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(("event", "lacks"), [("degraded", "no such class"), ("applied", ""), ("withdrawn", "")])
def test_an_addon_says_what_it_lacks(event, lacks):
    told = change("addon", event, "acme", "train", b'{"addon":"driver","message":"no such class"}')
    assert told.addons == {"driver": lacks}


def test_a_teardown_says_since_when_the_cluster_is_idle():
    told = change("teardown", "armed", "acme", "train", b'{"idle_since":"2026-01-01T00:00:00Z"}')
    assert (told.ends, told.idle_since) == ("armed", datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(("domain", "data"), [("addon", b"{}"), ("cluster", b"{"), ("cluster", b'{"attempt": 1}')])
def test_what_says_nothing_of_a_cluster_or_cannot_be_read_changes_nothing(domain, data):
    assert change(domain, "x", "acme", "train", data) is None


DEEP = b'{"a":' * 100_000


@pytest.mark.parametrize("data", [b'{"name":"\xff"}', DEEP, b"["], ids=["bytes", "deep", "half"])
@pytest.mark.parametrize(("stream", "subject"), [("INTAKE", "cluster.requested"), ("EVENTS", "cluster.ready.a.b")])
def test_what_nobody_can_read_is_told_by_its_subject(stream, subject, data):
    assert brief(stream, Stored(subject, data, {}, 1)).event == subject.split(".")[1]


@given(st.sampled_from(["EVENTS", "LEVELS", "INTAKE", "HOOKS", "DLQ"]), st.text(max_size=20), st.binary(max_size=40))
def test_whatever_was_published_is_told(stream, subject, data):
    assert brief(stream, Stored(subject, data, {}, 1)).place == f"{stream}/1"
