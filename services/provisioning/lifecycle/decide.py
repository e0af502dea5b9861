"""The decision table of a cluster: from a state, on an event, to what is true next."""

from schemas.attempts import (
    AttemptBlocked,
    AttemptGone,
    AttemptRecovered,
    AttemptUnrecoverable,
    LaunchFailed,
    MarketChanged,
    OrphanCreated,
)
from schemas.cluster import (
    LIFECYCLE,
    Hibernated,
    Launching,
    Pending,
    Placing,
    Provisioned,
    Ready,
    Released,
    Releasing,
    Stalled,
    Waiting,
)
from schemas.entity import Due
from schemas.infra import InfraSeen
from schemas.inventory import ClusterSeen
from schemas.placement import Ranked
from schemas.teardown import TeardownReleasing
from schemas.wish import Wish
from services.provisioning.lifecycle.change import CHANGES
from services.provisioning.lifecycle.launch import (
    become_ready,
    check_ready,
    launch_best,
    on_deadline,
    on_infra_launching,
    on_infra_provisioned,
    on_infra_running,
    on_launch_failed,
    on_not_recalled,
    on_ranked_stalled,
    on_recalled,
    request,
)
from services.provisioning.lifecycle.release import (
    add_orphan,
    add_seen_orphan,
    finish_release,
    finish_release_seen,
    on_attempt_blocked,
    place_next,
    place_next_seen,
    release,
    release_placing,
    release_requested,
    release_unplaced,
    remove_orphan,
)
from services.provisioning.lifecycle.request import (
    on_market_moved,
    on_wish_releasing,
    on_wish_unplaced,
    place_again,
    replace_wish,
    request_again,
)
from services.runtime.machine import machine, on

EVERY = (Pending, Placing, Launching, Provisioned, Ready, Hibernated, Waiting, Stalled, Releasing, Released)
"""Every state."""

decide = machine(
    LIFECYCLE,
    on(type(None), Wish, request),
    on(Released, Wish, request_again),
    on((Pending, Placing), Wish, replace_wish),
    on((Stalled, Waiting), Wish, on_wish_unplaced),
    on(Releasing, Wish, on_wish_releasing),
    on(Pending, AttemptRecovered, on_recalled),
    on(Pending, AttemptUnrecoverable, on_not_recalled),
    on((Pending, Placing), Ranked, launch_best),
    on(Stalled, Ranked, on_ranked_stalled),
    on(Waiting, Due, place_again),
    on(Waiting, MarketChanged, on_market_moved),
    on(Launching, LaunchFailed, on_launch_failed),
    on(Launching, InfraSeen, on_infra_launching),
    on(Provisioned, InfraSeen, on_infra_provisioned),
    on((Ready, Hibernated), InfraSeen, on_infra_running),
    on((Launching, Provisioned), Due, on_deadline),
    on(Provisioned, ClusterSeen, become_ready),
    on(Ready, ClusterSeen, check_ready),
    *CHANGES,
    on((Launching, Provisioned, Ready, Hibernated), TeardownReleasing, release),
    on(Placing, TeardownReleasing, release_placing),
    on(Pending, TeardownReleasing, release_requested),
    on((Waiting, Stalled), TeardownReleasing, release_unplaced),
    on(EVERY, OrphanCreated, add_orphan),
    on((Pending, Waiting, Stalled, Released), InfraSeen, add_seen_orphan),
    on((Pending, Launching, Provisioned, Ready, Hibernated, Waiting, Stalled, Released), AttemptGone, remove_orphan),
    on((Launching, Placing, Releasing), AttemptBlocked, on_attempt_blocked),
    on(Placing, AttemptGone, place_next),
    on(Placing, InfraSeen, place_next_seen),
    on(Releasing, AttemptGone, finish_release),
    on(Releasing, InfraSeen, finish_release_seen),
)
