"""What stands though it is over is known by its number, by its back end, and by its name where others gave it one."""

import msgspec

from schemas.attempts import AttemptGone, OrphanCreated
from schemas.cluster import Launching
from schemas.entity import EPOCH
from schemas.infra import InfraSeen
from schemas.placement import Attempt, Placement
from schemas.wish import Need, Pool, Wish
from services.provisioning.lifecycle.release import (
    UNKNOWN_PLACEMENT,
    add_orphan,
    add_seen_orphan,
    next_number,
    remove_orphan,
)

POOL = Pool(name="gpu", accelerator="H100", accelerators_per_node=8, nodes=2)
WISH = Wish(
    tenant="acme", colony="train", cluster="a", uid="c2", generation=1, need=Need(pools=(POOL,), backend="capi")
)  # fmt: skip
STATE = Launching(
    uid="c2.1", correlation="c2", wish=WISH, attempts=1, billed_since=EPOCH, deadline=EPOCH,
    attempt=Attempt(number=1, placement=Placement(cloud="aws", region="r", lots=())),
)  # fmt: skip


def seen(number, backend, adopted=""):
    return InfraSeen(cluster="train-a", uid="c1.1", attempt=number, backend=backend, adopted=adopted)


def stray(number, backend, adopts=""):
    return Attempt(number=number, placement=UNKNOWN_PLACEMENT, backend=backend, adopts=adopts, reason="Late")


def test_one_under_the_number_of_the_current_attempt_is_a_stray_only_at_another_back_end():
    assert add_seen_orphan(STATE, seen(1, "capi")) == STATE
    assert add_seen_orphan(STATE, seen(1, "")) == STATE
    assert add_seen_orphan(STATE, seen(1, "k0rdent")).orphans == (stray(1, "k0rdent"),)


def test_the_cluster_that_k0rdent_makes_beneath_the_current_attempt_is_no_stray():
    beneath = msgspec.structs.replace(seen(1, "k0rdent"), uid=STATE.uid)
    assert add_seen_orphan(STATE, beneath) == STATE


def test_strays_of_one_number_at_two_back_ends_are_two_and_each_is_kept_once():
    state = add_seen_orphan(add_seen_orphan(STATE, seen(3, "capi")), seen(3, "k0rdent"))
    assert state.orphans == (stray(3, "capi"), stray(3, "k0rdent"))
    assert add_orphan(state, OrphanCreated(stray(3, "k0rdent"))) == state
    assert next_number(state) == 4


def test_that_one_is_gone_says_nothing_of_its_namesake_at_another_back_end():
    state = msgspec.structs.replace(STATE, orphans=(stray(3, "capi"), stray(3, "k0rdent")))
    assert remove_orphan(state, AttemptGone(3, "k0rdent")).orphans == (stray(3, "capi"),)
    assert remove_orphan(state, AttemptGone(3)) == state


def test_what_others_made_is_a_stray_even_under_the_number_of_the_current_attempt():
    state = add_seen_orphan(add_seen_orphan(STATE, seen(1, "capi", "theirs")), seen(1, "capi", "too"))
    assert state.orphans == (stray(1, "capi", "theirs"), stray(1, "capi", "too"))
    assert remove_orphan(state, AttemptGone(1, "capi")) == state
    assert remove_orphan(state, AttemptGone(1, "capi", "theirs")).orphans == (stray(1, "capi", "too"),)
