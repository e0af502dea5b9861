"""What people want to know of a cluster's life is told once, when it happens, and with the reason."""

from datetime import timedelta

import msgspec
import pytest

from schemas import addon, cluster, teardown
from schemas.cluster import UnmetDemand
from schemas.placement import Attempt
from services.gateway.kube_events.transitions import Occurrence, occurrences, reachability
from tests.services.gateway.known import NOW, PLACEMENT, SEEN, is_, put_on

FAILED = Attempt(number=1, placement=PLACEMENT, reason="NoCapacity", message="none left")
PLACE = "2 x p5.48xlarge spot on aws us-east-1"


def told(before, state):
    return [(each.reason, each.message, each.warning) for each in occurrences(before, state)]


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (is_(cluster.Launching), ("Launching", f"{PLACE} for $20.50 an hour", False)),
        (is_(cluster.Placing, attempt=FAILED), ("NoCapacity", f"{PLACE} failed: none left", True)),
        (is_(cluster.Waiting, reason="PriceCap"), ("PriceCap", "too dear", True)),
        (is_(cluster.Stalled, reason="NotInstalled"), ("NotInstalled", "too dear", True)),
        (is_(cluster.Ready), ("Ready", "all 16 accelerators can be used", False)),
        (is_(cluster.Hibernated), ("Hibernated", "its machines are released until it wakes", False)),
        (is_(teardown.Warned), ("Warned", "it is deleted at 2026-01-01 12:00:00Z: Idle", True)),
        (
            is_(teardown.Draining, reason="TimeToLive"),
            ("Draining", "its time to live is over: its workloads are being stopped", False),
        ),
        (is_(teardown.Stuck, message="2 machines are left"), ("Stuck", "2 machines are left", True)),
        (is_(teardown.Gone, reason="Deleted"), ("Gone", "it was deleted: nothing is left", False)),
        (put_on(addon.Applied), ("AddonApplied", "add-on driver is applied and healthy", False)),
        (put_on(addon.Degraded), ("AddonDegraded", "add-on driver: bad manifest", True)),
    ],
)
def test_what_begins_is_told_once(state, expected):
    assert told(None, state) == [expected]
    assert told(state, state) == []


@pytest.mark.parametrize("kind", [cluster.Pending, cluster.Provisioned, cluster.Releasing, cluster.Released])
def test_steps_between_two_events_are_no_events(kind):
    assert told(None, is_(kind)) == []


def test_what_a_running_cluster_is_refused_or_lacks_is_told_when_it_begins():
    ungrown = UnmetDemand(reason="PriceCap", message="too dear")
    plain, now = is_(cluster.Ready), is_(cluster.Ready, refused="pools stay", unmet_demand=ungrown)
    assert told(plain, now) == [("Refused", "pools stay", True), ("PriceCap", "too dear", True)]
    assert told(now, msgspec.structs.replace(now, scale_down_at=NOW)) == []


def test_taken_spot_machines_are_told_with_how_often_that_was():
    before, now = is_(cluster.Ready), is_(cluster.Provisioned, was_ready=True, interruptions=2)
    assert told(before, now) == [("Interrupted", "spot machines were taken back 2 times so far", True)]
    assert told(before, is_(cluster.Provisioned, was_ready=True))[0][0] == "NotReady"


def test_a_cluster_made_anew_under_the_name_has_a_life_of_its_own():
    assert told(is_(cluster.Ready), is_(cluster.Ready, uid="u2"))[0][0] == "Ready"


def test_a_step_that_is_given_up_is_told_and_so_is_an_end_that_may_have_left_something():
    skipped = teardown.Skipped(step="Draining", reason="pod x does not end", left="work of pod x")
    what = "Draining was given up (pod x does not end): work of pod x may be left"
    before, now = is_(teardown.Draining), is_(teardown.TeardownReleasing, skipped=(skipped,))
    assert told(before, now) == [("Skipped", what, True)]
    assert told(now, is_(teardown.Gone, reason="Deleted", skipped=(skipped,))) == [
        ("Gone", f"it was deleted: {what}", True)
    ]


def test_silence_is_told_when_it_begins_and_when_it_ends():
    silent = msgspec.structs.replace(SEEN, known=False, fresh_since=NOW + timedelta(minutes=1))
    assert list(reachability(SEEN, silent)) == [Occurrence("Unreachable", "its API is unreachable", warning=True)]
    assert list(reachability(silent, silent)) == []
    assert list(reachability(silent, SEEN)) == [Occurrence("ReachableAgain", "its API is reachable again")]
    assert list(reachability(None, SEEN)) == []
