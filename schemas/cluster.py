"""States of a cluster, from the request to its release."""

from datetime import datetime

import msgspec

from schemas.entity import Lifecycle, State
from schemas.placement import Attempt, Lot
from schemas.registry import WireStruct, state
from schemas.wish import Need, Pool, Wish

OWNER = "provisioning"
NOT_INSTALLED = "NotInstalled"
"""The reason when the management cluster lacks what a back end needs; no offer is to blame."""


class ClusterState(State, frozen=True, kw_only=True):
    """Fields that all states of a cluster have."""

    wish: Wish
    failed_attempts: tuple[Attempt, ...] = ()
    """The released attempts that failed for what is asked for now."""
    attempts: int = 0
    """How many attempts this incarnation has begun; numbers of orphans are skipped."""
    cost_usd: float = 0.0
    """What was billed until `billed_since`: the released attempts, and the current one at what it cost before.

    It is as of then, and not counted on while nothing changes: by now the cluster has cost as much more as the hours
    since `billed_since` times what its placement costs an hour (`services.colony.accounting.so_far`).
    """
    interruptions: int = 0
    """How often it was complete on spot machines and then lost some."""
    orphans: tuple[Attempt, ...] = ()
    """Attempts whose objects exist although the cluster no longer uses them; they are released independently."""
    short_since: datetime | None = None
    """Since when no fitting offer exists; None while one does."""


@state("cluster", "pending", owner=OWNER)
class Pending(ClusterState, frozen=True, kw_only=True):
    """The cluster was requested; the market has not answered yet."""

    existing: Attempt | None = None
    """The attempt whose objects exist although its history was lost; it is continued if they tell enough."""


@state("cluster", "placing", owner=OWNER)
class Placing(ClusterState, frozen=True, kw_only=True):
    """An attempt failed: it is released, then the next offer is chosen."""

    attempt: Attempt | None = None
    """The failed attempt that is still being released."""
    billed_since: datetime | None = None
    blocked: str = ""
    """Why it cannot be released now, for people; empty while it can."""


class UnmetDemand(WireStruct, frozen=True, kw_only=True):
    """Why pods that wait for nodes get none."""

    reason: str
    """CamelCase, such as PriceCap or Taken."""
    message: str


class Resizing(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """The pools are being resized."""

    before: tuple[Lot, ...] = ()
    """The lots that the back end accepted last; empty: this goes back to them."""
    pools: tuple[Pool, ...] = ()
    """The pools that `before` was bought for; empty: the pools it has now."""
    nodes: int
    """So many nodes are enough meanwhile."""
    accelerators: int
    """So many accelerators are enough meanwhile."""
    least: dict[str, int] = msgspec.field(default_factory=dict)
    """So many nodes are enough meanwhile, by pool; empty: only the sum counts."""
    until: datetime
    """When it is reported that this takes long (UTC)."""
    ordered: bool = False
    """The back end has accepted the new size."""
    late: bool = False
    """It took longer than `until`."""
    demanded: bool = False
    """Pods need it; no person asked for it."""


class Upgrading(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """Its machines get another Kubernetes version; its wish names the version that all of them run."""

    version: str
    """The new version."""
    until: datetime
    """When it is reported that this takes long (UTC)."""
    progress: str = ""
    """The progress, for people; empty while unknown."""
    late: bool = False
    """It took longer than `until`."""


class Placed(ClusterState, frozen=True, kw_only=True):
    """Fields of states that have a placement: an offer was chosen."""

    attempt: Attempt
    billed_since: datetime
    """Since when it costs what its placement says now; that time is not in `cost_usd` yet."""
    resizing: Resizing | None = None
    upgrading: Upgrading | None = None
    next_best_per_hour: float | None = None
    """USD per hour that the next best placement would have cost."""
    refused: str = ""
    """Why the newest wish cannot be followed while the cluster runs; empty: it is followed."""
    wanted: Need | None = None
    """What it should become once its new pools are priced; None: what its wish says."""
    lent: bool = False
    """It is an existing cluster that is kept when it is released."""


@state("cluster", "launching", owner=OWNER)
class Launching(Placed, frozen=True, kw_only=True):
    """An offer was chosen; the cluster is being created."""

    deadline: datetime
    blocked: str = ""
    """What blocks its creation, for people; empty while nothing does."""


class WithApi(Placed, frozen=True, kw_only=True):
    """Fields of states whose API has answered."""

    kubeconfig: str
    """Name of the Secret."""


@state("cluster", "provisioned", owner=OWNER)
class Provisioned(WithApi, frozen=True, kw_only=True):
    """The cluster's API answers; not all of its accelerators are ready."""

    deadline: datetime
    was_ready: bool = False
    """All of its accelerators were ready before."""


@state("cluster", "ready", owner=OWNER)
class Ready(WithApi, frozen=True, kw_only=True):
    """Every accelerator that was bought can be used.

    It is said again, one revision on, when only the wish for it or a count changes; whoever wants to know when it
    became ready looks whether the state before was another. `cost_usd` is as of `billed_since`: since then it costs
    `price_per_hour` of each lot times its `nodes` and `extra`, and `control_plane_per_hour`.
    """

    scale_down_at: datetime | None = None
    """When idle pools shrink to their fewest nodes, unless they are used before."""
    idle_pools: dict[str, datetime] = msgspec.field(default_factory=dict)
    """Pools that are idle, and since when; empty: all of them."""
    scale_up_from: datetime | None = None
    """Until then it does not grow for its pods, as the last try was refused."""
    unmet_demand: UnmetDemand | None = None
    """Why pods wait for nodes; None: none wait, or nodes are on their way."""


@state("cluster", "hibernated", owner=OWNER)
class Hibernated(WithApi, frozen=True, kw_only=True):
    """The cluster's machines are released until it is woken; its API stays."""


@state("cluster", "releasing", owner=OWNER)
class Releasing(ClusterState, frozen=True, kw_only=True):
    """The cluster is being released."""

    attempt: Attempt
    reason: str
    billed_since: datetime
    blocked: str = ""
    """Why it cannot be released now, for people; empty while it can."""


@state("cluster", "released", owner=OWNER)
class Released(ClusterState, frozen=True, kw_only=True):
    """The cluster is released: nothing of it is left at the cloud."""

    reason: str

    @property
    def needed(self) -> bool:
        """Its Colony exists: that it has ended keeps the next edit from creating it again."""
        return not self.wish.deleting


@state("cluster", "waiting", owner=OWNER)
class Waiting(ClusterState, frozen=True, kw_only=True):
    """No offer fits now: the market is asked again at `until`, or soon after it changes."""

    reason: str
    message: str
    until: datetime


@state("cluster", "stalled", owner=OWNER)
class Stalled(ClusterState, frozen=True, kw_only=True):
    """The cluster cannot be created as requested; it waits for another wish, or for what is not installed."""

    reason: str
    message: str


Holding = Placing | Placed | Releasing
"""States that hold an attempt's machines, or may: they have `attempt` and `billed_since`."""
Blockable = Placing | Launching | Releasing
"""States that can be blocked by what people have to mend: they have `blocked`."""


def kubeconfig_of(state: object) -> str:
    """The name of the Secret with a cluster's kubeconfig; empty before its API has answered, and after its end."""
    return state.kubeconfig if isinstance(state, WithApi) else ""


LIFECYCLE = Lifecycle(
    "cluster",
    {
        None: (Pending, Provisioned, Releasing, Released),
        Pending: (Launching, Waiting, Stalled, Releasing, Released),
        Launching: (Provisioned, Hibernated, Placing, Releasing),
        Placing: (Launching, Waiting, Stalled, Releasing, Released),
        Provisioned: (Ready, Hibernated, Placing, Releasing),
        Ready: (Provisioned, Hibernated, Placing, Releasing),
        Hibernated: (Provisioned, Placing, Releasing),
        Waiting: (Placing, Pending, Released),
        Stalled: (Pending, Launching, Waiting, Released),
        Releasing: (Released,),
        Released: (Pending,),
    },
    ends=(Released,),
)
