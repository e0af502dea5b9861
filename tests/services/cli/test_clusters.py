"""`alate get clusters` shows how far a cluster's end is, and what it has cost by now."""

from datetime import UTC, datetime, timedelta

import msgspec

from events.bus import Stored
from schemas import cluster, teardown
from schemas.registry import declared
from services.cli.kinds import KINDS
from tests.services.gateway.known import is_

KIND = KINDS["clusters"]
HOUR_AGO = datetime.now(UTC) - timedelta(hours=1)
READY = is_(cluster.Ready, billed_since=HOUR_AGO)
DRAINING = is_(teardown.Draining, why="TimeToLive", blocked="Job default/train still has 2 pods")


def stored(state):
    return Stored(declared(type(state)).at("acme", "train-a"), msgspec.json.encode(state))


def shown(*states, only=None):
    items = [item for state in states for item in KIND.items(stored(state))]
    some = items if only is None else [items[only]]
    rows = KIND.arranged(some, items)
    return [dict(zip(KIND.columns, KIND.row(row, datetime.now(UTC)), strict=True)) for row in rows]


def test_a_cluster_that_drains_is_not_shown_as_ready_and_says_what_it_waits_for():
    (row,) = shown(READY, DRAINING)
    assert row["STATE"] == "draining"
    assert (
        "(its time to live is over): draining, at $20.50 an hour: Job default/train still has 2 pods" in row["MESSAGE"]
    )


def test_news_of_an_end_show_the_clusters_row():
    (row,) = shown(READY, DRAINING, only=1)
    assert (row["NAME"], row["STATE"]) == ("train-a", "draining")


def test_what_has_no_end_in_sight_or_anothers_shows_its_own_state():
    for end in (is_(teardown.Armed), is_(teardown.Draining, uid="u0")):
        (row,) = shown(READY, end)
        assert (row["STATE"], row["MESSAGE"]) == ("ready", "")


def test_the_cost_is_what_it_is_now_and_not_what_it_was_at_the_last_transition():
    (row,) = shown(READY)
    assert float(row["COST"]) >= 22.0


def test_a_state_that_this_release_cannot_read_is_shown_as_it_was_said():
    (item,) = KIND.items(Stored("cluster.ready.acme.train-a", b'{"message":"of a later release","cost_usd":3.0}'))
    assert KIND.row(KIND.arranged([item], [item])[0], datetime.now(UTC))[1::5] == ("ready", "3.00")
