from datetime import UTC, datetime

import msgspec

from events.bus import Stored
from events.memory import MemoryBus
from services.edge.page.fleet import Fleet

IDLE = datetime(2026, 1, 1, tzinfo=UTC)


def fleet(*said: tuple[str, dict]) -> Fleet:
    made = Fleet(MemoryBus())
    for number, (subject, state) in enumerate(said, start=1):
        made.take(Stored(subject, msgspec.json.encode(state), {}, number))
    return made


def rows(made: Fleet) -> list[tuple[str, str, str]]:
    return [(row.name, row.state, row.ends) for row in made.snapshot().clusters]


def test_a_row_is_the_last_state_of_a_cluster_and_of_its_teardown():
    made = fleet(
        ("cluster.launching.acme.a", {}), ("cluster.ready.acme.a", {}), ("teardown.armed.acme.a", {"idle_since": IDLE})
    )
    assert rows(made) == [("a", "ready", "armed")]
    assert made.snapshot().clusters[0].idle_since == IDLE


def test_a_clusters_next_state_leaves_what_its_teardown_said():
    made = fleet(("cluster.ready.acme.a", {}), ("teardown.armed.acme.a", {}), ("cluster.provisioned.acme.a", {}))
    assert rows(made) == [("a", "provisioned", "armed")]


def test_a_row_says_what_its_end_waits_for():
    made = fleet(
        ("cluster.ready.acme.a", {}),
        ("teardown.draining.acme.a", {"blocked": "Job x runs"}),
        ("cluster.ready.acme.a", {}),
    )
    assert rows(made) == [("a", "ready", "draining")]
    assert made.snapshot().clusters[0].blocked == "Job x runs"


def test_a_row_says_what_its_addons_lack_until_they_have_it():
    broken = ("addon.degraded.acme.a_2Edriver", {"addon": "driver", "message": "no such class"})
    ready = ("cluster.ready.acme.a", {"cost_usd": 3.5})
    (row,) = fleet(ready, broken, ready).snapshot().clusters
    assert (row.name, row.state, row.cost, row.addons) == ("a", "ready", 3.5, {"driver": "no such class"})
    (row,) = fleet(ready, broken, ("addon.applied.acme.a_2Edriver", {"addon": "driver"})).snapshot().clusters
    assert row.addons == {}


def seen(made, known):
    made.look(Stored("inventory.cluster.acme.a", msgspec.json.encode({"cluster": "a", "known": known}), {}, 9))
    return [row.heard for row in made.snapshot().clusters]


def test_a_row_says_that_its_cluster_cannot_be_heard_whatever_is_said_after_it():
    made = fleet(("cluster.ready.acme.a", {}))
    assert seen(made, known=False) == [False]
    made.take(Stored("cluster.ready.acme.a", b"{}", {}, 2))
    assert [row.heard for row in made.snapshot().clusters] == [False]
    assert seen(made, known=True) == [None]


def test_a_silence_that_was_heard_of_before_its_cluster_is_told_with_it():
    made = fleet()
    assert seen(made, known=False) == []
    made.take(Stored("cluster.ready.acme.a", b"{}", {}, 1))
    assert [row.heard for row in made.snapshot().clusters] == [False]


def test_what_is_released_is_of_the_fleet_no_more_though_its_teardown_goes_on():
    made = fleet(("cluster.ready.acme.a", {}), ("cluster.released.acme.a", {}), ("teardown.gone.acme.a", {}))
    assert rows(made) == []


def test_heard_again_nothing_changes():
    made = fleet(("cluster.launching.acme.a", {}), ("cluster.ready.acme.a", {}))
    made.take(Stored("cluster.launching.acme.a", b"{}", {}, 1))
    assert rows(made) == [("a", "ready", "")]
    assert made.snapshot().sequence == 2
