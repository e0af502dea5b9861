"""States of an add-on on one cluster, and the commands and answers that lead from one to the next."""

from datetime import datetime

from schemas.entity import EPOCH, Lifecycle, State
from schemas.registry import WireStruct, level, state
from schemas.wish import AddonRef

OWNER = "addons"
ALL = "all/"
"""What the name of a ClusterAddonProfile is preceded by, as it is of no namespace."""


def full_name(addon: str, profile: str = "") -> str:
    """An add-on's name within its cluster, such as ``driver``, ``base.driver`` or ``all.base.driver``.

    `profile`: empty for a Colony's own add-on, the name of an AddonProfile, or ``all/`` and that of a
    ClusterAddonProfile. None of these names holds a dot, so all parts can be read back.
    """
    return f"{profile.replace('/', '.')}.{addon}" if profile else addon


def profile_of(addon: str) -> str:
    """The profile that an add-on's full name tells, as `full_name` takes it."""
    profile = addon.rpartition(".")[0]
    return profile.replace(".", "/")


def addon_name(cluster: str, addon: str) -> str:
    """The entity's name, of the add-on's full name; a cluster's name holds no dot either."""
    return f"{cluster}.{addon}"


class AddonState(State, frozen=True, kw_only=True):
    """Fields that all states of an add-on have."""

    tenant: str
    colony: str
    cluster: str
    """The cluster entity's name."""
    addon: str
    """Its full name."""
    digest: str
    """Digest of the description that it should follow."""
    after: tuple[str, ...] = ()
    """Full names of the add-ons that must be applied first, and are withdrawn after it."""
    required: bool = True
    """The cluster is not ready without it."""
    kubeconfig: str = ""
    """Name of the Secret with the cluster's kubeconfig; empty until the cluster's API answers."""
    as_of: datetime = EPOCH
    """Time of the cluster state that this follows; older states of the cluster are ignored."""


@state("addon", "planned", owner=OWNER)
class Planned(AddonState, frozen=True, kw_only=True):
    """The add-on waits for its cluster."""


@state("addon", "applying", owner=OWNER)
class Applying(AddonState, frozen=True, kw_only=True):
    """The add-on's objects are being applied and become healthy."""

    until: datetime
    """When it has taken too long (UTC)."""
    message: str = ""
    """What it still waits for, one sentence for people."""
    overdue: bool = False
    """It has taken too long: it is checked once more, then it is degraded."""


@state("addon", "applied", owner=OWNER)
class Applied(AddonState, frozen=True, kw_only=True):
    """The add-on's objects exist and are healthy."""


@state("addon", "degraded", owner=OWNER)
class Degraded(AddonState, frozen=True, kw_only=True):
    """The add-on could not be made healthy; it is retried at `retryAt`."""

    message: str
    retry_at: datetime


@state("addon", "withdrawing", owner=OWNER)
class Withdrawing(AddonState, frozen=True, kw_only=True):
    """The add-on's objects are being deleted."""

    dropped: bool = False
    """The Colony no longer asks for it, and may ask for it again."""
    stays: bool = False
    """The cluster stays without it: objects that others need are left."""
    again: str = ""
    """The digest to apply once it is withdrawn; empty: none."""
    leave: bool = False
    """Its objects stay and belong to nobody."""
    message: str = ""
    """What it waits for, one sentence for people."""


@state("addon", "withdrawn", owner=OWNER)
class Withdrawn(AddonState, frozen=True, kw_only=True):
    """The add-on's objects are deleted except those that others need, or the cluster is gone."""

    dropped: bool = False
    message: str = ""
    """Which of its objects were left, and why."""


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


class DroppedAddon(WireStruct, frozen=True, omit_defaults=True):
    """An add-on that no profile asks for any more."""

    name: str
    """Its full name."""
    leave: bool = False
    """Its objects stay where they are, and belong to nobody."""


@level("observed.addons.{tenant}.{cluster}", owner=OWNER)
class ProfileAddons(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """The add-ons that profiles want one cluster to have now."""

    tenant: str
    colony: str
    """Empty for a cluster that was registered by its kubeconfig."""
    cluster: str
    uid: str
    """The cluster's incarnation."""
    correlation: str
    kubeconfig: str = ""
    """As in `AddonState`."""
    lost: bool = False
    """The cluster is gone, and everything on it."""
    addons: tuple[AddonRef, ...] = ()
    dropped: tuple[DroppedAddon, ...] = ()
    as_of: datetime = EPOCH
    """When this was found to differ from the one before (UTC)."""


class AddonWanted(WireStruct, frozen=True, kw_only=True):
    """Event: the cluster exists and should have this add-on."""

    uid: str
    tenant: str
    colony: str
    cluster: str
    addon: str
    digest: str
    correlation: str
    kubeconfig: str = ""
    after: tuple[str, ...] = ()
    required: bool = True
    as_of: datetime = EPOCH


class AddonUnwanted(WireStruct, frozen=True):
    """Event: the cluster should no longer have this add-on; `lost`: the cluster is gone."""

    uid: str
    lost: bool = False
    dropped: bool = False
    """The Colony no longer asks for it."""
    stays: bool = False
    """The cluster stays."""
    as_of: datetime = EPOCH
    leave: bool = False
    """Its objects stay and belong to nobody."""


class AddonHealthy(WireStruct, frozen=True):
    """Answer: every object of a digest exists and is healthy."""

    digest: str


class AddonFailed(WireStruct, frozen=True):
    """Answer: the add-on cannot be applied as it is written."""

    digest: str
    message: str


class AddonPending(WireStruct, frozen=True):
    """Answer: the add-on is not healthy yet; `message` says why, empty if nobody has to do anything."""

    digest: str
    message: str = ""


class AddonLost(WireStruct, frozen=True):
    """Answer: an applied add-on no longer exists, or has been unhealthy for some time."""

    digest: str
    message: str


class AddonRemoved(WireStruct, frozen=True):
    """Answer: the add-on's objects are deleted except those that others need."""

    left: str = ""
    """Which objects are left, and why."""


class ApplyAddon(WireStruct, frozen=True):
    """Command: ensure that every object of the add-on exists and is healthy."""

    tenant: str
    colony: str
    cluster: str
    addon: str
    digest: str
    kubeconfig: str
    told: str = ""
    """The message that was reported last; the same message is not reported again."""
    overdue: bool = False
    """Report whatever it still waits for: the time is over."""


class CheckAddon(WireStruct, frozen=True):
    """Command: check whether every object of the add-on still exists and is healthy."""

    tenant: str
    colony: str
    cluster: str
    addon: str
    digest: str
    kubeconfig: str


class WithdrawAddon(WireStruct, frozen=True):
    """Command: delete the add-on's objects, except those that others need if the cluster stays."""

    tenant: str
    colony: str
    cluster: str
    addon: str
    kubeconfig: str
    dropped: bool = False
    """Only this add-on is withdrawn; the Colony's others stay."""
    stays: bool = False
