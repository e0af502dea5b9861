"""The decision table of a cluster's end: from a state, on an event, to what is true next."""

from schemas.addon import Withdrawn
from schemas.cluster import LIFECYCLE as CLUSTER
from schemas.cluster import Released
from schemas.cluster import Releasing as BeingReleased
from schemas.entity import Due
from schemas.inventory import ClusterSeen
from schemas.teardown import (
    LIFECYCLE,
    AddonsListed,
    Armed,
    Audited,
    Blocked,
    CleanedUp,
    Cleaning,
    Drained,
    Draining,
    Gone,
    Stuck,
    TeardownReleasing,
    Verifying,
    Warned,
)
from services.runtime.machine import machine, on
from services.teardown.lifetime import (
    arm,
    arm_again,
    arm_successor,
    on_cluster_armed,
    on_cluster_warned,
    on_due_armed,
    on_due_warned,
    on_usage_armed,
    on_usage_warned,
    verify_never_launched,
    verify_never_launched_again,
    verify_released,
)
from services.teardown.steps import (
    on_audited,
    on_blocked,
    on_cluster_ending,
    on_cluster_gone,
    on_drained,
    on_due,
    on_due_cleaning,
    on_due_draining,
    on_due_stuck,
    on_listed,
    on_release_blocked,
    on_swept,
    on_withdrawn,
    take_deleting,
    verify,
    verify_stuck,
)

LIVING = tuple(kind for kind in CLUSTER.states if kind not in CLUSTER.terminal)
"""Every state of a cluster but the last."""
UNORDERED = tuple(kind for kind in LIVING if kind is not BeingReleased)
"""The states before a cluster's release is ordered."""

decide = machine(
    LIFECYCLE,
    on(type(None), LIVING, arm),
    on(type(None), Released, verify_never_launched),
    on(Gone, LIVING, arm_again),
    on(Gone, Released, verify_never_launched_again),
    on(Armed, LIVING, on_cluster_armed),
    on(Warned, LIVING, on_cluster_warned),
    on((Armed, Warned), Released, verify_released),
    on(Armed, ClusterSeen, on_usage_armed),
    on(Warned, ClusterSeen, on_usage_warned),
    on(Armed, Due, on_due_armed),
    on(Warned, Due, on_due_warned),
    on(Draining, AddonsListed, on_listed),
    on(Draining, Drained, on_drained),
    on(Cleaning, Withdrawn, on_withdrawn),
    on(Cleaning, CleanedUp, on_swept),
    on((Draining, Cleaning), UNORDERED, on_cluster_ending),
    on((Draining, Cleaning), Released, on_cluster_gone),
    on((Draining, Cleaning, Verifying), Blocked, on_blocked),
    on(Draining, Due, on_due_draining),
    on(Cleaning, Due, on_due_cleaning),
    on((TeardownReleasing, Stuck), BeingReleased, on_release_blocked),
    on(TeardownReleasing, UNORDERED, arm_successor),
    on(Stuck, UNORDERED, arm_successor),
    on(Verifying, LIVING, arm_successor),
    on(TeardownReleasing, Released, verify),
    on(Verifying, Released, take_deleting),
    on(Verifying, Audited, on_audited),
    on((TeardownReleasing, Verifying), Due, on_due),
    on(Stuck, Due, on_due_stuck),
    on(Stuck, Released, verify_stuck),
)
