"""What is said of a cluster's end: when it is due, how far it is, and the proof that nothing is left."""

from datetime import datetime, timedelta

from schemas.entity import EPOCH, State
from schemas.lifecycle import Lifecycle
from schemas.registry import state
from schemas.wire import WireStruct
from schemas.wish import Wish

OWNER = "teardown"
UNHEARD_LIMIT = timedelta(minutes=2)
"""How long a cluster's API that never answered is waited for: one that is restarted or moved is back by then."""


class Skipped(WireStruct, frozen=True, kw_only=True):
    """A step in the cluster that was given up, so that its machines are not paid for any longer."""

    step: str
    """``Draining`` or ``Cleaning``."""
    reason: str
    """Why, one sentence for people."""
    left: str
    """What may be left because of it, e.g. ``load balancers and volumes of the cluster``."""


class TeardownState(State, frozen=True, kw_only=True):
    """What all states of a teardown know."""

    wish: Wish
    kubeconfig: str = ""
    """Name of the Secret; empty while the cluster's API was never up: nothing in it needs cleaning."""
    lent: bool = False
    """It stands on, with what others have in it."""
    ready_since: datetime | None = None
    """When it was first ready."""
    idle_since: datetime | None = None
    as_of: datetime = EPOCH
    """Since when the cluster is what this follows: what it said before is no news."""
    skipped: tuple[Skipped, ...] = ()
    """What was given up, or lost, before it could be cleaned."""


@state("teardown", "armed", owner=OWNER)
class Armed(TeardownState, frozen=True, kw_only=True):
    """Its limits are watched."""


@state("teardown", "warned", owner=OWNER)
class Warned(TeardownState, frozen=True, kw_only=True):
    """A limit is about to be reached: at `until` it goes, unless something changes."""

    reason: str
    until: datetime


class Ending(TeardownState, frozen=True, kw_only=True):
    """What is known once the end has begun."""

    reason: str
    """``Deleted``, ``TimeToLive`` or ``Idle``."""
    began: datetime = EPOCH
    """When the end began."""
    deadline: datetime
    """When this step is given up; one that cannot be is stuck then."""
    unreachable: bool = False
    """The cluster's API was asked, and has not answered once since the end began."""
    blocked: str = ""
    """What this step waits for, one sentence for people as last seen; empty while nothing is known to block it."""

    @property
    def ends_at(self) -> datetime:
        """When this step ends at the latest: long before its deadline where the cluster's API never answered."""
        return min(self.deadline, self.began + UNHEARD_LIMIT) if self.unreachable else self.deadline


@state("teardown", "draining", owner=OWNER)
class Draining(Ending, frozen=True, kw_only=True):
    """Its workloads are being stopped."""


@state("teardown", "cleaning", owner=OWNER)
class Cleaning(Ending, frozen=True, kw_only=True):
    """Its add-ons, load balancers and volumes are being withdrawn."""

    addons: tuple[str, ...]
    """Those not yet withdrawn."""
    swept: bool = False
    """Load balancers and volumes are gone."""


@state("teardown", "releasing", owner=OWNER)
class TeardownReleasing(Ending, frozen=True, kw_only=True):
    """Its machines are being given back."""


@state("teardown", "verifying", owner=OWNER)
class Verifying(Ending, frozen=True, kw_only=True):
    """It is looked for what may be left."""


@state("teardown", "gone", owner=OWNER)
class Gone(TeardownState, frozen=True, kw_only=True):
    """Nothing is left but what `skipped` names, and this is the proof."""

    reason: str
    proof: dict[str, int]
    """What was counted, all of it zero."""

    @property
    def needed(self) -> bool:
        """The same proof lets the cluster be founded again as long as its Colony stands."""
        return not self.wish.deleting


@state("teardown", "stuck", owner=OWNER)
class Stuck(Ending, frozen=True, kw_only=True):
    """A step that cannot be skipped has taken too long: people are told, and it is tried again now and then."""

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
    """A step waits for something."""

    step: str
    what: str
    """One sentence for people, the same as long as it waits for the same."""
    reachable: bool = True
    """The cluster's API has answered."""


class Drained(WireStruct, frozen=True):
    """Nothing that holds accelerators runs any more."""


class CleanedUp(WireStruct, frozen=True):
    """No load balancer and no volume of the cluster is left at the cloud."""


class Audited(WireStruct, frozen=True):
    """What was looked for, and how much of it was found."""

    found: dict[str, int]

    @property
    def clean(self) -> bool:
        """Nothing was found."""
        return not any(self.found.values())


class Drain(WireStruct, frozen=True):
    """Asks that nothing that holds accelerators runs in the cluster."""

    tenant: str
    kubeconfig: str


class CleanUp(WireStruct, frozen=True):
    """Asks that the cluster has no load balancers and volumes."""

    tenant: str
    kubeconfig: str


class CountAddons(WireStruct, frozen=True):
    """Asks which of the cluster's add-ons are withdrawn already."""

    tenant: str
    cluster: str
    uid: str
    addons: tuple[str, ...]


class AuditCluster(WireStruct, frozen=True):
    """Asks what is left of the cluster."""

    wish: Wish
    uid: str
