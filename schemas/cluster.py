"""What is said of a cluster, from the wish for it to its release."""

from datetime import datetime

import msgspec

from schemas.entity import State
from schemas.lifecycle import Lifecycle
from schemas.placement import Attempt, Lot
from schemas.registry import state
from schemas.wire import WireStruct
from schemas.wish import Need, Pool, Wish

OWNER = "provisioning"
NOT_INSTALLED = "NotInstalled"
"""The reason where the management cluster lacks what a back end needs: that is no offer's fault."""


class ClusterState(State, frozen=True, kw_only=True):
    """What all states of a cluster know."""

    wish: Wish
    failed_attempts: tuple[Attempt, ...] = ()
    """The attempts that failed on what is asked for now, each of them released."""
    attempts: int = 0
    """How many attempts this incarnation has begun; numbers that strays bear are passed over."""
    cost_usd: float = 0.0
    """What was billed until `billed_since`: the released attempts, and the current one at what it cost before.

    It is as of then, and not counted on while nothing changes: by now the cluster has cost as much more as the hours
    since `billed_since` times what its placement costs an hour (`services.colony.accounting.so_far`).
    """
    interruptions: int = 0
    """How often it was whole on spot machines, and then was not."""
    orphans: tuple[Attempt, ...] = ()
    """Attempts that were made while they were let go, or stand when they are over: released beside all else."""
    short_since: datetime | None = None
    """Since when nothing that fits is to be had; None while there is."""


@state("cluster", "pending", owner=OWNER)
class Pending(ClusterState, frozen=True, kw_only=True):
    """Somebody wants it; the market has not been asked yet."""

    existing: Attempt | None = None
    """The attempt whose objects stand though its history was lost: it is taken in again, if they tell enough."""


@state("cluster", "placing", owner=OWNER)
class Placing(ClusterState, frozen=True, kw_only=True):
    """A try came to nothing: it is let go, then the next offer is looked for."""

    attempt: Attempt | None = None
    """The failed try that is still being let go."""
    billed_since: datetime | None = None
    blocked: str = ""
    """Why it cannot be let go now; empty while it can."""


class UnmetDemand(WireStruct, frozen=True, kw_only=True):
    """Why pods that wait for nodes get none."""

    reason: str
    """CamelCase, such as PriceCap or Taken."""
    message: str


class Resizing(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """The pools are getting another size."""

    before: tuple[Lot, ...] = ()
    """What the back end took last; empty: this is the way back to it."""
    pools: tuple[Pool, ...] = ()
    """What `before` was bought for; empty: the pools it has now."""
    nodes: int
    """So many are enough meanwhile."""
    accelerators: int
    """The same, in accelerators."""
    least: dict[str, int] = msgspec.field(default_factory=dict)
    """The same, in nodes by pool; empty: it was said of all pools together."""
    until: datetime
    """When people are told that it takes long."""
    ordered: bool = False
    """The back end has taken the new size."""
    late: bool = False
    """It took longer than that."""
    demanded: bool = False
    """Its pods ask for it, not a person."""


class Upgrading(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """It is getting another version of Kubernetes, machine by machine; its wish names the one that all of it has."""

    version: str
    """The one that it gets."""
    until: datetime
    """When people are told that it takes long."""
    progress: str = ""
    """How far it is, for people; empty while nothing is known."""
    late: bool = False
    """It took longer than that."""


class Placed(ClusterState, frozen=True, kw_only=True):
    """What is known from the moment an offer was chosen."""

    attempt: Attempt
    billed_since: datetime
    """Since when it costs what its placement says now: that time is not in `cost_usd` yet."""
    resizing: Resizing | None = None
    upgrading: Upgrading | None = None
    next_best_per_hour: float | None = None
    """USD, what the next best placement would have cost."""
    refused: str = ""
    """Why the newest wish cannot be followed while the cluster runs."""
    wanted: Need | None = None
    """What it is to become once its new pools are bought; until then it is what its wish says."""
    lent: bool = False
    """It stood before, and stands on when it is let go."""


@state("cluster", "launching", owner=OWNER)
class Launching(Placed, frozen=True, kw_only=True):
    """An offer is chosen; its cluster is being made."""

    deadline: datetime
    blocked: str = ""
    """What the management cluster lacks for it now; empty while nothing is lacking."""


class WithApi(Placed, frozen=True, kw_only=True):
    """What is known once its API has answered."""

    kubeconfig: str
    """Name of the Secret."""


@state("cluster", "provisioned", owner=OWNER)
class Provisioned(WithApi, frozen=True, kw_only=True):
    """Its API answers; not all of its accelerators are there."""

    deadline: datetime
    was_ready: bool = False
    """All of its accelerators were there before."""


@state("cluster", "ready", owner=OWNER)
class Ready(WithApi, frozen=True, kw_only=True):
    """Every accelerator that was bought can be used.

    It is said again, one revision on, when only the wish for it or a count changes; whoever wants to know when it
    became ready looks whether the state before was another. `cost_usd` is as of `billed_since`: since then it costs
    `price_per_hour` of each lot times its `nodes` and `extra`, and `control_plane_per_hour`.
    """

    scale_down_at: datetime | None = None
    """When pools go to the fewest nodes they may have, unless something is used before."""
    idle_pools: dict[str, datetime] = msgspec.field(default_factory=dict)
    """Which pools those are, and since when nothing of each is used; empty: all of them."""
    scale_up_from: datetime | None = None
    """What its pods ask for is not followed before: the last time it was refused."""
    unmet_demand: UnmetDemand | None = None
    """None: its pods ask for nothing more, or it is on its way."""


@state("cluster", "hibernated", owner=OWNER)
class Hibernated(WithApi, frozen=True, kw_only=True):
    """Its machines are given back until it is asked to wake; its API stays."""


@state("cluster", "releasing", owner=OWNER)
class Releasing(ClusterState, frozen=True, kw_only=True):
    """It is being given back."""

    attempt: Attempt
    reason: str
    billed_since: datetime
    blocked: str = ""
    """Why it cannot be given back now; empty while it can."""


@state("cluster", "released", owner=OWNER)
class Released(ClusterState, frozen=True, kw_only=True):
    """Nothing of it is left at the cloud."""

    reason: str

    @property
    def needed(self) -> bool:
        """Its Colony stands: that it has ended is what keeps it from being founded by the next edit."""
        return not self.wish.deleting


@state("cluster", "waiting", owner=OWNER)
class Waiting(ClusterState, frozen=True, kw_only=True):
    """Nothing that fits is to be had now: the market is asked again at a time, or soon after it has changed."""

    reason: str
    message: str
    until: datetime


@state("cluster", "stalled", owner=OWNER)
class Stalled(ClusterState, frozen=True, kw_only=True):
    """It cannot be founded as asked; it waits for another wish, or for what is not installed."""

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
