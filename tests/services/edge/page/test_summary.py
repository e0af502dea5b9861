import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.bus import Stored
from services.edge.page.summary import group_of, subject_groups, summarize
from tests.corpus import corpus


def test_every_message_of_a_real_run_belongs_to_a_known_group():
    known = {group.name for group in subject_groups()}
    assert {group_of(said.stream, said.stored.subject) for said in corpus("0.1.0")} <= known


def test_a_group_tells_whether_its_subjects_keep_only_the_newest_value():
    snapshots = {group.name: group.snapshot for group in subject_groups()}
    assert (snapshots["inventory.cluster"], snapshots["cluster"]) == (True, False)


DEEP = b'{"a":' * 100_000


@pytest.mark.parametrize("data", [b'{"name":"\xff"}', DEEP, b"["], ids=["bytes", "deep", "half"])
@pytest.mark.parametrize(("stream", "subject"), [("INTAKE", "cluster.requested"), ("EVENTS", "cluster.ready.a.b")])
def test_a_message_that_cannot_be_read_is_summarized_by_its_subject(stream, subject, data):
    assert summarize(stream, Stored(subject, data, {}, 1)).event == subject.split(".")[1]


@given(st.sampled_from(["EVENTS", "LEVELS", "INTAKE", "HOOKS", "DLQ"]), st.text(max_size=20), st.binary(max_size=40))
def test_any_message_is_summarized(stream, subject, data):
    assert summarize(stream, Stored(subject, data, {}, 1)).position == f"{stream}/1"
