from dataclasses import replace

import pytest

from schemas import addon, cluster, teardown
from schemas.registry import declared
from schemas.subjects import Key
from services.cli.demo.audit import TERMINAL, Evidence, Purchase, Record, audit

CLUSTER = Key("cluster", "default", "demo-train")
EVENTS = ("pending", "launching", "provisioned", "ready", "releasing", "released")


def history(*events: str, uid: str = "u.1", start: int = 1) -> list[Record]:
    return [Record(start + n, event, uid, n + 1, f"{uid}.{n + 1}") for n, event in enumerate(events)]


CLEAN = Evidence(
    {CLUSTER: history(*EVENTS)},
    expected=frozenset({CLUSTER}),
    unanswered={"provisioning-levels": 0},
    purchases=(Purchase("default/demo-train-1", bought=2, made=2),),
)


def test_a_clean_run_has_nothing_lost_and_nothing_twice():
    found = audit(CLEAN)

    assert (found.lost, found.duplicates) == ((), ())


@pytest.mark.parametrize("missing", range(len(EVENTS) - 1))
def test_a_state_that_is_missing_is_lost(missing):
    gap = [record for n, record in enumerate(history(*EVENTS)) if n != missing]

    assert audit(replace(CLEAN, histories={CLUSTER: gap})).lost == (
        f"cluster/default/demo-train u.1 revision {missing + 1}",
    )


@pytest.mark.parametrize("event", EVENTS[:-1])
def test_an_entity_that_did_not_reach_its_end_is_lost(event):
    cut = history(*EVENTS[: EVENTS.index(event) + 1])

    (only,) = audit(replace(CLEAN, histories={CLUSTER: cut})).lost
    assert only == f"cluster/default/demo-train ended as {event}, not as released"


def test_an_entity_without_a_history_is_lost():
    assert audit(replace(CLEAN, histories={})).lost == ("cluster/default/demo-train has no history",)


def test_every_dead_letter_is_lost():
    assert len(audit(replace(CLEAN, dead_letters=2)).lost) == 2


def test_what_nobody_answered_is_lost():
    assert audit(replace(CLEAN, unanswered={"addons-events": 3})).lost == ("3 unanswered of addons-events",)


def test_a_revision_that_is_there_again_is_twice():
    again = [*history(*EVENTS), Record(7, "released", "u.1", 6, "another-id")]

    assert audit(replace(CLEAN, histories={CLUSTER: again})).duplicates == (
        "cluster/default/demo-train u.1 revision 6 at 7",
    )


def test_an_event_id_that_is_there_again_is_twice():
    again = [*history(*EVENTS), Record(7, "released", "u.1", 7, "u.1.6")]

    assert len(audit(replace(CLEAN, histories={CLUSTER: again})).duplicates) == 1


def test_another_incarnation_begins_again_at_one():
    two = [*history(*EVENTS), *history(*EVENTS, uid="u.2", start=7)]
    found = audit(replace(CLEAN, histories={CLUSTER: two}))

    assert (found.lost, found.duplicates) == ((), ())


def test_a_machine_nobody_bought_is_twice():
    found = audit(replace(CLEAN, purchases=(Purchase("default/demo-train-1", bought=2, made=3),)))

    assert found.duplicates == ("machine 3 of default/demo-train-1 made beyond what was bought",)


@pytest.mark.parametrize("lifecycle", [cluster.LIFECYCLE, addon.LIFECYCLE, teardown.LIFECYCLE])
def test_the_end_that_is_asked_for_is_one_of_the_lifecycles(lifecycle):
    assert TERMINAL[lifecycle.domain] in [declared(state).event for state in lifecycle.terminal]
