"""States of an add-on on one cluster, and the commands and answers that lead from one to the next."""

from datetime import datetime

from schemas.entity import EPOCH, Lifecycle, State
from schemas.registry import WireStruct, state

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
    timeout_seconds: float = 600.0
    """How long it may take to become healthy before it is degraded."""
    sources: str = ""
    """As in `AddonRef`."""
    once: bool = False
    """As in `AddonRef`."""
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
    gated: bool = False
    """It waits for other add-ons, and its time has not begun."""


@state("addon", "applied", owner=OWNER)
class Applied(AddonState, frozen=True, kw_only=True):
    """The add-on's objects exist and are healthy."""

    content: str = ""
    """Digest of what its description came to on this cluster."""
    message: str = ""
    """What differs from its description, if that is only reported."""


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
    timeout_seconds: float = 600.0
    sources: str = ""
    once: bool = False
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
    content: str = ""
    """Digest of what the description came to on this cluster."""


class AddonFailed(WireStruct, frozen=True):
    """Answer: the add-on cannot be applied as it is written."""

    digest: str
    message: str


class AddonPending(WireStruct, frozen=True):
    """Answer: the add-on is not healthy yet; `message` says why, empty if nobody has to do anything."""

    digest: str
    message: str = ""
    gated: bool = False
    """It waits for other add-ons: nothing was written yet."""
    progress: bool = False
    """It comes along: what it waits for changes often."""
    written: bool = False
    """Its objects are written, and only become ready."""


class AddonDiffers(WireStruct, frozen=True):
    """Answer: an applied add-on differs from its description, which is only reported; empty: it differs no longer."""

    digest: str
    message: str = ""


class AddonLost(WireStruct, frozen=True):
    """Answer: an add-on no longer exists, has been unhealthy for some time, or comes to something else now."""

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
    after: tuple[str, ...] = ()
    """Full names of the add-ons that must be applied first."""
    uid: str = ""
    """The cluster's incarnation."""
    gated: bool = False
    """It was reported to wait for other add-ons."""
    sources: str = ""
    """As in `AddonRef`."""


class CheckAddon(WireStruct, frozen=True):
    """Command: check whether every object of the add-on still exists and is healthy."""

    tenant: str
    colony: str
    cluster: str
    addon: str
    digest: str
    kubeconfig: str
    content: str = ""
    """Digest of what was applied."""
    told: str = ""
    """What was reported last to differ."""
    uid: str = ""
    """The cluster's incarnation."""
    sources: str = ""
    """As in `AddonRef`."""


class RetryAddon(WireStruct, frozen=True):
    """Command: try a degraded add-on again, if something that its description refers to has changed."""

    tenant: str
    cluster: str
    addon: str
    digest: str


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
    leave: bool = False
    """Delete nothing: its objects belong to nobody from now on."""
    told: str = ""
    """The message that was reported last."""
    uid: str = ""
    """The cluster's incarnation."""
    since: datetime = EPOCH
    """When it began to be withdrawn."""
    digest: str = ""
