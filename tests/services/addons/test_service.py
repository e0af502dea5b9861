"""What a cluster and its teardown say reaches every add-on that it concerns."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from schemas.addon import AddonUnwanted, AddonWanted
from schemas.cluster import Ready, Released
from schemas.placement import Attempt, Placement
from schemas.subjects import Key
from schemas.teardown import Cleaning
from schemas.wish import AddonRef, Adopt, Need, Pool, Wish
from services.addons.service import addon_events, cleaning_events

T0 = datetime(2026, 1, 1, tzinfo=UTC)
NEED = Need(pools=(Pool(name="gpu", accelerator="H100", accelerators_per_node=8, nodes=2),))
WISH = Wish(
    tenant="acme", colony="train", cluster="a", uid="c1", generation=2, need=NEED,
    addons=(AddonRef("jobs", "d1"),), dropped=("driver",),
)  # fmt: skip
NAMES = ("cluster", "ready", "acme", "train-a")
JOBS, DRIVER = Key("addon", "acme", "train-a.jobs"), Key("addon", "acme", "train-a.driver")
ATTEMPT = Attempt(number=1, placement=Placement(cloud="aws", region="r", lots=()))
READY = Ready(
    uid="c1.1", correlation="c1", wish=WISH, since=T0, attempt=ATTEMPT, attempts=1, billed_since=T0, kubeconfig="k",
)  # fmt: skip


def test_what_is_asked_for_is_wanted_and_what_is_asked_for_no_more_is_not():
    told = dict(addon_events(NAMES, READY))
    assert isinstance(told[JOBS], AddonWanted)
    assert told[DRIVER] == AddonUnwanted("c1.1", dropped=True, stays=True, as_of=T0)


def test_with_the_cluster_all_of_them_are_lost():
    gone = Released(uid="c1.1", correlation="c1", wish=WISH, since=T0, reason="Deleted")
    events: dict[Key, Any] = dict(addon_events(NAMES, gone))
    assert {key: event.lost for key, event in events.items()} == {JOBS: True, DRIVER: True}


@pytest.mark.parametrize(
    ("adopt", "lent", "stays"), [(None, False, False), (Adopt(name="theirs"), False, True), (None, True, True)]
)
def test_where_the_cluster_ends_all_go_the_last_first_and_heed_others_where_it_goes_on(adopt, lent, stays):
    wish = msgspec.structs.replace(WISH, need=msgspec.structs.replace(NEED, adopt=adopt))
    order = Cleaning(
        uid="c1.1", correlation="c1", wish=wish, reason="Deleted", deadline=T0, addons=("driver", "jobs"), lent=lent
    )
    assert list(cleaning_events(("teardown", "cleaning", "acme", "train-a"), order)) == [
        (JOBS, AddonUnwanted("c1.1", stays=stays)),
        (DRIVER, AddonUnwanted("c1.1", stays=stays)),
    ]
