"""What is true of a cluster's end next."""

from schemas.addon import Withdrawn
from schemas.cluster import LIFECYCLE as CLUSTER
from schemas.cluster import Released
from schemas.cluster import Releasing as BeingReleased
from schemas.entity import Due
from schemas.inventory import ClusterSeen
from schemas.teardown import (
    LIFECYCLE,
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
    calm,
    expire,
    follow,
    follow_warned,
    note_use,
    succeed,
    verify_released,
    verify_unfounded,
    verify_unfounded_again,
    warn,
)
from services.teardown.steps import (
    amend,
    clean,
    count_off,
    get_stuck,
    give_up_clean,
    give_up_drain,
    heed,
    hold,
    prove,
    retry,
    sweep,
    tell,
    vanish,
    verify,
    verify_stuck,
)

LIVING = tuple(kind for kind in CLUSTER.states if kind not in CLUSTER.terminal)
"""Every state of a cluster but the last."""
UNORDERED = tuple(kind for kind in LIVING if kind is not BeingReleased)
"""Those it can be in before its release is ordered."""

decide = machine(
    LIFECYCLE,
    on(type(None), LIVING, arm),
    on(type(None), Released, verify_unfounded),
    on(Gone, LIVING, arm_again),
    on(Gone, Released, verify_unfounded_again),
    on(Armed, LIVING, follow),
    on(Warned, LIVING, follow_warned),
    on((Armed, Warned), Released, verify_released),
    on(Armed, ClusterSeen, note_use),
    on(Warned, ClusterSeen, calm),
    on(Armed, Due, warn),
    on(Warned, Due, expire),
    on(Draining, Drained, clean),
    on(Cleaning, Withdrawn, count_off),
    on(Cleaning, CleanedUp, sweep),
    on((Draining, Cleaning), UNORDERED, amend),
    on((Draining, Cleaning), Released, vanish),
    on((Draining, Cleaning, Verifying), Blocked, tell),
    on(Draining, Due, give_up_drain),
    on(Cleaning, Due, give_up_clean),
    on((TeardownReleasing, Stuck), BeingReleased, hold),
    on(TeardownReleasing, UNORDERED, succeed),
    on(Stuck, UNORDERED, succeed),
    on(Verifying, LIVING, succeed),
    on(TeardownReleasing, Released, verify),
    on(Verifying, Released, heed),
    on(Verifying, Audited, prove),
    on((TeardownReleasing, Verifying), Due, get_stuck),
    on(Stuck, Due, retry),
    on(Stuck, Released, verify_stuck),
)
