"""States of a cluster's teardown: its limits, its steps, and the proof that nothing is left."""

from datetime import datetime, timedelta

from schemas.entity import EPOCH, Lifecycle, State
from schemas.registry import WireStruct, state
from schemas.wish import Wish

OWNER = "teardown"
UNHEARD_LIMIT = timedelta(minutes=2)
"""How long to wait for a cluster's API that never answers: a restarted one is back by then."""


class Skipped(WireStruct, frozen=True, kw_only=True):
    """A step in the cluster that was skipped, so that its machines do not cost longer."""

    step: str
    """``Draining`` or ``Cleaning``."""
    reason: str
    """Why, one sentence for people."""
    left: str
    """What may be left because of it, e.g. ``load balancers and volumes of the cluster``."""


class TeardownState(State, frozen=True, kw_only=True):
    """Fields that all states of a teardown have."""

    wish: Wish
    kubeconfig: str = ""
    """Name of the Secret with the kubeconfig; empty if the cluster's API never answered: nothing to clean."""
    lent: bool = False
    """The cluster is lent and is kept, with what others have in it."""
    ready_since: datetime | None = None
    """When it was first ready."""
    idle_since: datetime | None = None
    as_of: datetime = EPOCH
    """Time of the cluster state that this follows; older states of the cluster are ignored."""
    skipped: tuple[Skipped, ...] = ()
    """Steps that were skipped, and clusters that were lost before they could be cleaned."""


@state("teardown", "armed", owner=OWNER)
class Armed(TeardownState, frozen=True, kw_only=True):
    """The cluster's limits are watched."""


@state("teardown", "warned", owner=OWNER)
class Warned(TeardownState, frozen=True, kw_only=True):
    """A limit is about to be reached: the cluster is deleted at `until`, unless something changes."""

    reason: str
    until: datetime


class Ending(TeardownState, frozen=True, kw_only=True):
    """Fields of states once the teardown has begun."""

    reason: str
    """``Deleted``, ``TimeToLive`` or ``Idle``."""
    began: datetime = EPOCH
    """When the end began."""
    deadline: datetime
    """When this step is skipped; a step that cannot be skipped is stuck then."""
    unreachable: bool = False
    """The cluster's API has not answered once since the end began."""
    blocked: str = ""
    """What this step waits for, one sentence for people; empty while nothing is known to block it."""

    @property
    def ends_at(self) -> datetime:
        """When this step ends at the latest: long before its deadline where the cluster's API never answered."""
        return min(self.deadline, self.began + UNHEARD_LIMIT) if self.unreachable else self.deadline


@state("teardown", "draining", owner=OWNER)
class Draining(Ending, frozen=True, kw_only=True):
    """The cluster's workloads are being stopped."""

    profile_addons: tuple[str, ...] = ()
    """Full names of the add-ons that profiles gave the cluster."""


@state("teardown", "cleaning", owner=OWNER)
class Cleaning(Ending, frozen=True, kw_only=True):
    """The cluster's add-ons, load balancers and volumes are being deleted."""

    addons: tuple[str, ...]
    """Add-ons that are not withdrawn yet."""
    swept: bool = False
    """Load balancers and volumes are deleted."""


@state("teardown", "releasing", owner=OWNER)
class TeardownReleasing(Ending, frozen=True, kw_only=True):
    """The cluster's machines are being released."""


@state("teardown", "verifying", owner=OWNER)
class Verifying(Ending, frozen=True, kw_only=True):
    """The teardown looks for anything that is left."""


@state("teardown", "gone", owner=OWNER)
class Gone(TeardownState, frozen=True, kw_only=True):
    """Nothing is left but what `skipped` names; `proof` has the counts."""

    reason: str
    proof: dict[str, int]
    """What was counted, all of it zero."""

    @property
    def needed(self) -> bool:
        """The proof is needed as long as its Colony exists: it lets the cluster be created again."""
        return not self.wish.deleting


@state("teardown", "stuck", owner=OWNER)
class Stuck(Ending, frozen=True, kw_only=True):
    """A step that cannot be skipped has taken too long: it is reported, and retried from time to time."""

    step: str
    """``TeardownReleasing`` or ``Verifying``."""
    message: str


LIFECYCLE = Lifecycle(
    "teardown",
    {
        None: (Armed, Draining, TeardownReleasing, Verifying),
        Armed: (Warned, Draining, TeardownReleasing, Verifying),
        Warned: (Armed, Draining, TeardownReleasing, Verifying),
        Draining: (Cleaning, TeardownReleasing, Verifying),
        Cleaning: (TeardownReleasing, Verifying),
        TeardownReleasing: (Armed, Draining, Verifying, Stuck),
        Verifying: (Armed, Draining, TeardownReleasing, Gone, Stuck),
        Stuck: (Armed, Draining, TeardownReleasing, Verifying),
        Gone: (Armed, Draining, TeardownReleasing, Verifying),
    },
    ends=(Gone,),
)


class Blocked(WireStruct, frozen=True):
    """Answer: a step waits for something."""

    step: str
    what: str
    """What it waits for, one sentence for people; the same sentence as long as it is the same cause."""
    reachable: bool = True
    """The cluster's API has answered."""


class AddonsListed(WireStruct, frozen=True):
    """Answer: the add-ons that profiles gave the cluster, by their full names."""

    names: tuple[str, ...]


class Drained(WireStruct, frozen=True):
    """Answer: no pod that holds accelerators runs any more."""


class CleanedUp(WireStruct, frozen=True):
    """Answer: no load balancer and no volume of the cluster is left at the cloud."""


class Audited(WireStruct, frozen=True):
    """Answer: what was looked for, and how much of it was found."""

    found: dict[str, int]

    @property
    def clean(self) -> bool:
        """Nothing was found."""
        return not any(self.found.values())


class Drain(WireStruct, frozen=True):
    """Command: stop everything that holds accelerators in the cluster."""

    tenant: str
    kubeconfig: str


class CleanUp(WireStruct, frozen=True):
    """Command: delete the cluster's load balancers and volumes."""

    tenant: str
    kubeconfig: str


class ListAddons(WireStruct, frozen=True):
    """Command: find out which add-ons profiles gave the cluster."""

    tenant: str
    cluster: str
    uid: str


class CountAddons(WireStruct, frozen=True):
    """Command: find out which of the cluster's add-ons are withdrawn."""

    tenant: str
    cluster: str
    uid: str
    addons: tuple[str, ...]


class AuditCluster(WireStruct, frozen=True):
    """Command: count what is left of the cluster."""

    wish: Wish
    uid: str
