"""The tree of a flow holds every message of it once, each under what caused it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from events.bus import Stored
from services.cli.events.lineage import Because, LineageNode, forest, lineage
from services.cli.events.tree import drawn
from services.eventlog.record import EventRecord

START = datetime(2026, 1, 1, tzinfo=UTC)


def record(
    place: int, subject: str, name: str, cause: str = "", data: bytes = b"{}", *, stream: str = "EVENTS"
) -> EventRecord:
    headers = {"ce-id": name} | ({"ce-causationid": cause} if cause else {})
    return EventRecord(stream, Stored(subject, data, headers, place, START + timedelta(seconds=place)))


def shape(node: LineageNode) -> tuple:
    return (node.record.id, node.because.value, [shape(each) for each in node.effects])


def every(nodes: list[LineageNode]) -> Iterator[LineageNode]:
    for node in nodes:
        yield node
        yield from every(node.effects)


REQUEST = record(1, "cluster.requested", "run-1", stream="INTAKE")
REQUESTED = record(2, "cluster.requested.t.a", "c1", "wish", b'{"wish": {"event": "run-1"}}')
LAUNCHING = record(3, "cluster.launching.t.a", "c2", "wish")
ARMED = record(4, "teardown.armed.t.a", "t1", "c2")
WARNED = record(5, "teardown.warned.t.a", "t2")
FLOW = [REQUEST, REQUESTED, LAUNCHING, ARMED, WARNED]


def test_each_message_hangs_on_its_cause_or_on_what_its_entity_said_before():
    (root,) = lineage(FLOW, None)
    assert shape(root) == (
        "run-1", "root", [
            ("c1", "request", []),
            ("c2", "request", [
                ("t1", "cause", [("t2", "itself", [])])])],
    )  # fmt: skip


def test_of_one_message_only_what_led_to_it_and_what_came_of_it_is_shown():
    other = record(6, "addon.planned.t.a_2Ex", "a1", "c1")
    (root,) = lineage([*FLOW, other], ARMED)
    assert [node.record.id for node in every([root])] == ["run-1", "c2", "t1", "t2"]


def test_where_one_id_is_that_of_several_entities_the_nearest_before_is_meant():
    cluster, teardown = record(1, "cluster.released.t.a", "u.5"), record(2, "addon.withdrawn.t.a_2Ex", "u.5")
    later = record(3, "teardown.releasing.t.a", "u.12", "u.5")
    again = record(4, "cluster.releasing.t.b", "u.5")
    causes = {node.record.place: node.parent for node in forest([cluster, teardown, later, again])}
    assert causes[later.place].record == teardown


def test_what_has_no_id_caused_nothing():
    hook = record(1, "hook.cloudevents.t.ci.d1", "", stream="HOOKS")
    by_hand = record(2, "cluster.requested.t.a", "c1", "", b'{"wish": {"event": ""}}')
    assert [node.parent for node in forest([hook, by_hand])] == [None, None]


RELEASE = record(6, "colony.release.t.a", "done-1", stream="INTAKE")
GOING = b'{"wish": {"event": "run-1", "release": "done-1"}}'
DRAINING = record(7, "teardown.draining.t.a", "t3", "wish", GOING)
GONE = record(8, "teardown.gone.t.a", "t4", "", GOING)


def test_what_lets_a_cluster_go_is_linked_to_the_first_state_that_says_so_which_stays_in_its_tree():
    begun, ended = lineage([*FLOW, RELEASE, DRAINING, GONE], None)
    by_id = {node.record.id: node for node in every([begun, ended])}
    assert [node.record.id for node in every([ended])] == ["done-1"]
    assert by_id["t3"].parent is by_id["t2"]
    assert [name for name, node in by_id.items() if node.release] == ["t3"]
    assert by_id["done-1"].item()["ends"] == ["t3"]
    assert by_id["t3"].item()["release"] == "done-1"


def test_from_what_lets_a_cluster_go_what_it_ended_is_named():
    (root,) = lineage([*FLOW, RELEASE, DRAINING, GONE], RELEASE)
    assert "colony.release.t.a  INTAKE/6  +0.000s  (releases teardown.draining.t.a)" in drawn(root, "")


def test_a_dead_letter_hangs_on_what_was_refused():
    letter = record(9, "dlq.INTAKE.gateway-intake", "run-1", stream="DLQ")
    (root,) = lineage([letter, REQUEST], REQUEST)
    assert shape(root) == ("run-1", "root", [("run-1", "refused", [])])


def test_what_is_not_kept_leaves_several_trees_and_loses_nothing():
    trees = lineage([ARMED, WARNED, record(8, "addon.applied.t.a_2Ex", "a2", "gone")], None)
    assert [tree.because for tree in trees] == [Because.ROOT, Because.ROOT]


ids = st.sampled_from("abcdef")
messages = st.lists(st.tuples(st.sampled_from(["cluster.x.t.a", "addon.y.t.b"]), ids, ids | st.just("")), max_size=12)


@given(messages)
def test_whatever_ids_say_every_message_is_in_the_trees_once_and_none_in_a_ring(drawn):
    flow = [record(place, *each) for place, each in enumerate(drawn, start=1)]
    found = sorted(node.record.stored.sequence for node in every(lineage(flow, None)))
    assert found == [each.stored.sequence for each in flow]
