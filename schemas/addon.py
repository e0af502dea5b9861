"""What is said of an add-on on one cluster."""

from datetime import datetime

from schemas.entity import EPOCH, State
from schemas.lifecycle import Lifecycle
from schemas.registry import state
from schemas.wire import WireStruct

OWNER = "addons"


def addon_name(cluster: str, addon: str) -> str:
    """The entity's name; Kubernetes names hold no dot here, so both parts can be read back."""
    return f"{cluster}.{addon}"


class AddonState(State, frozen=True, kw_only=True):
    """What all states of an add-on know."""

    tenant: str
    colony: str
    cluster: str
    """The cluster entity's name."""
    addon: str
    digest: str
    """Of the manifests it should be made of."""
    kubeconfig: str = ""
    """Name of the Secret; empty until the cluster's API is up."""
    as_of: datetime = EPOCH
    """Since when the cluster is what this follows: what it said before is no news."""


@state("addon", "planned", owner=OWNER)
class Planned(AddonState, frozen=True, kw_only=True):
    """It waits for its cluster."""


@state("addon", "applying", owner=OWNER)
class Applying(AddonState, frozen=True, kw_only=True):
    """Its objects are being written, then waited for."""

    until: datetime
    """When it has taken too long."""
    message: str = ""
    """What it lacks before it can be written, as it is told to people."""
    overdue: bool = False
    """It has taken too long: it is asked once more, then it is degraded."""


@state("addon", "applied", owner=OWNER)
class Applied(AddonState, frozen=True, kw_only=True):
    """Its objects are there and healthy."""


@state("addon", "degraded", owner=OWNER)
class Degraded(AddonState, frozen=True, kw_only=True):
    """It could not be made healthy; it is tried again now and then."""

    message: str
    retry_at: datetime


@state("addon", "withdrawing", owner=OWNER)
class Withdrawing(AddonState, frozen=True, kw_only=True):
    """Its objects are being taken away."""

    dropped: bool = False
    """The Colony asks for it no more, and may ask for it again."""
    stays: bool = False
    """The cluster goes on without it: what others need of it is left."""
    again: str = ""
    """The digest that is asked for meanwhile, once it is off."""


@state("addon", "withdrawn", owner=OWNER)
class Withdrawn(AddonState, frozen=True, kw_only=True):
    """Nothing of it is left on the cluster but what others need, or the cluster itself is gone."""

    dropped: bool = False
    message: str = ""
    """What of it was left, and why."""


LIFECYCLE = Lifecycle(
    "addon",
    {
        None: (Planned, Applying),
        Planned: (Applying, Withdrawn),
        Applying: (Applied, Degraded, Withdrawing, Withdrawn),
        Applied: (Applying, Withdrawing, Withdrawn),
        Degraded: (Applying, Withdrawing, Withdrawn),
        Withdrawing: (Applying, Withdrawn),
        Withdrawn: (Planned, Applying),
    },
    ends=(Withdrawn,),
)


class AddonWanted(WireStruct, frozen=True, kw_only=True):
    """The cluster is there and shall have this add-on."""

    uid: str
    tenant: str
    colony: str
    cluster: str
    addon: str
    digest: str
    correlation: str
    kubeconfig: str = ""
    as_of: datetime = EPOCH


class AddonUnwanted(WireStruct, frozen=True):
    """The cluster shall have this add-on no more; `lost`: there is no cluster to take it from."""

    uid: str
    lost: bool = False
    dropped: bool = False
    """The Colony asks for it no more."""
    stays: bool = False
    """The cluster goes on."""
    as_of: datetime = EPOCH


class AddonHealthy(WireStruct, frozen=True):
    """Every object of a digest is there and healthy."""

    digest: str


class AddonFailed(WireStruct, frozen=True):
    """It cannot be applied as it is written."""

    digest: str
    message: str


class AddonPending(WireStruct, frozen=True):
    """It is not there yet: why, or, empty, that there is nothing people would have to mend."""

    digest: str
    message: str = ""


class AddonLost(WireStruct, frozen=True):
    """It was applied, and is not there any more, or has not been healthy for some time."""

    digest: str
    message: str


class AddonRemoved(WireStruct, frozen=True):
    """Nothing of it is left on the cluster but what others need."""

    left: str = ""
    """What that is, and why."""


class ApplyAddon(WireStruct, frozen=True):
    """Asks that every object of the add-on is there and healthy."""

    tenant: str
    colony: str
    cluster: str
    addon: str
    digest: str
    kubeconfig: str
    told: str = ""
    """What it lacks, as it was told already."""
    overdue: bool = False
    """Whatever it still waits for is told, for it is waited for no longer."""


class CheckAddon(WireStruct, frozen=True):
    """Asks whether every object of the add-on is still there and healthy."""

    tenant: str
    colony: str
    cluster: str
    addon: str
    digest: str
    kubeconfig: str


class WithdrawAddon(WireStruct, frozen=True):
    """Asks that no object of the add-on is there but what others need, where the cluster goes on."""

    tenant: str
    colony: str
    cluster: str
    addon: str
    kubeconfig: str
    dropped: bool = False
    """The Colony's other add-ons stay."""
    stays: bool = False
