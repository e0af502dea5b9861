"""A row says in one word and one sentence how a cluster is, and is green only where it can be used as asked."""

from datetime import timedelta

import msgspec
import pytest

from schemas import addon, cluster, teardown
from schemas.inventory import REFUSED, Trouble
from services.edge.page.rows import RowParts, row
from tests.services.edge.page.states import BEGAN, NOW, addon_state, seen, state

READY = state(cluster.Ready)


def parts(cluster_state=READY, **others):
    return RowParts(cluster_state, BEGAN, **others)


def test_a_row_says_where_a_cluster_runs_and_what_it_costs():
    got = row(parts(state(cluster.Ready, cost_usd=3.5), seen=seen()))
    assert (got.region, got.machines, got.price, got.cost) == ("aws us-east-1", "2 x 8 H100", 41.0, 3.5)
    assert (got.accelerators_used, got.accelerators_ready, got.accelerators) == (8, 16, 16)
    assert (got.colony, got.cluster, got.state, got.message) == ("train", "gpu", "ready", "")


def test_before_an_offer_is_chosen_a_row_says_how_many_accelerators_are_wanted():
    got = row(parts(state(cluster.Pending)))
    assert (got.accelerators, got.machines, got.price) == (16, "", 0.0)


def test_a_released_cluster_has_no_row():
    assert row(parts(state(cluster.Released))) is None


def test_a_cluster_expires_so_long_after_it_was_first_ready():
    assert row(parts(teardown=state(teardown.Armed))).expires_at == BEGAN + timedelta(hours=6)
    assert row(parts(teardown=state(teardown.Armed, ready_since=None))).expires_at is None
    assert row(parts(teardown=state(teardown.Warned))).expires_at == NOW


def test_add_ons_are_counted_without_those_that_were_taken_away():
    addons = (addon_state(addon.Applied), addon_state(addon.Applying, "a"), addon_state(addon.Withdrawn, "b"))
    got = row(parts(addons=addons))
    assert (got.addons_applied, got.addons) == (1, 2)


SILENT = seen(known=False, degraded=(Trouble(reason=REFUSED, message="the token is not accepted"),))


@pytest.mark.parametrize(
    ("shown", "word", "message"),
    [
        (parts(state(cluster.Waiting)), "waiting", "no offer fits"),
        (parts(state(cluster.Stalled)), "stalled", "no offer fits"),
        (parts(state(cluster.Launching, blocked="no class")), "launching", "no class"),
        (parts(state(cluster.Provisioned), seen=seen(accelerators=8)), "provisioned", "8 of 16 accelerators are ready"),
        (parts(state(cluster.Ready, refused="never down")), "ready", "never down"),
        (parts(teardown=state(teardown.Warned)), "ready", "ends at 12:00 UTC: its accelerators were idle for too long"),
        (
            parts(teardown=state(teardown.Draining, blocked="Job x still has 2 pods")),
            "draining",
            "Job x still has 2 pods",
        ),
        (
            parts(teardown=state(teardown.Cleaning, reason="Deleted", addons=())),
            "cleaning",
            "is being deleted: as requested",
        ),
        (parts(teardown=state(teardown.Stuck, message="a load balancer is left")), "stuck", "a load balancer is left"),
        (parts(seen=SILENT), "unreachable", "its API server cannot be reached: the token is not accepted"),
        (parts(addons=(addon_state(addon.Degraded),)), "degraded", "add-on driver: no such class"),
        (parts(addons=(addon_state(addon.Degraded, required=False),)), "ready", "add-on driver: no such class"),
    ],
)
def test_a_row_says_what_is_wrong_or_what_it_waits_for(shown, word, message):
    got = row(shown)
    assert (got.state, got.message) == (word, message)


def test_a_row_without_values_is_small_on_the_wire():
    assert b"acceleratorsUsed" not in msgspec.json.encode(row(parts()))
