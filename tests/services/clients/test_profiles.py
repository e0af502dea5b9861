"""A rollout says how it holds a cluster back: it has not come to it, is not done with it, or gave back what it had."""

import pytest

from schemas.profile_addons import RolloutMark
from services.clients.profiles import rollout_hold

WAITS = "stage rest waits for the annotation alate.dev/approved=rest@r2"


def profile(spec=None, **status):
    conditions = [{"type": "Reconciling", "status": "True", "message": WAITS}]
    return {
        "kind": "AddonProfile",
        "metadata": {"name": "base"},
        "spec": {"rollout": {"soak": "10m"}} if spec is None else spec,
        "status": {"revision": "r2", "conditions": conditions} | status,
    }


@pytest.mark.parametrize(
    ("mark", "why", "keeps"),
    [
        (None, f"the rollout of AddonProfile base has not come to this cluster: {WAITS}", True),
        (RolloutMark(revision="r1"), f"the rollout of AddonProfile base has not come to this cluster: {WAITS}", True),
        (
            RolloutMark(revision="r2"),
            "the rollout of AddonProfile base is not done with this cluster, which must stay healthy for 10m: " + WAITS,
            False,
        ),
        (
            RolloutMark(revision="r2", returned=True),
            f"the rollout of AddonProfile base gave the cluster back what it had before: {WAITS}",
            True,
        ),
    ],
)
def test_a_rollout_that_is_under_way_says_what_it_waits_for(mark, why, keeps):
    assert rollout_hold(profile(), mark) == (why, keeps)


def test_a_stopped_rollout_says_why_it_stopped():
    stopped = [{"type": "Stalled", "status": "True", "message": "1 failed; stopped as 1 cluster failed"}]
    found = rollout_hold(profile(conditions=stopped), RolloutMark(revision="r1"))
    assert found.why.endswith("to this cluster: 1 failed; stopped as 1 cluster failed")


def test_a_complete_rollout_holds_nothing():
    assert rollout_hold(profile(), RolloutMark(revision="r2", complete=True)) is None


def test_a_profile_without_a_rollout_holds_nothing():
    assert rollout_hold(profile(spec={}), None) is None
