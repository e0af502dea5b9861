"""What profiles want of one cluster, as the add-on service publishes it."""

from datetime import datetime

import msgspec

from schemas.addon import OWNER
from schemas.entity import EPOCH
from schemas.registry import WireStruct, level
from schemas.wish import AddonRef


class DroppedAddon(WireStruct, frozen=True, omit_defaults=True):
    """An add-on that no profile asks for any more."""

    name: str
    """Its full name."""
    leave: bool = False
    """Its objects stay where they are, and belong to nobody."""


class RolloutMark(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """What the rollout of a profile has last changed on one cluster."""

    revision: str
    """The digest of the profile's add-ons that the cluster was given."""
    since: datetime = EPOCH
    """When it was given them (UTC)."""
    before: tuple[AddonRef, ...] = ()
    """What it had before that, and goes back to."""
    failed: str = ""
    """Why it has failed with this revision; empty: it has not, or it is well again."""
    returned: bool = False
    """It went back to what it had before."""
    complete: bool = False
    """The rollout has ended: from now on a failure stops nothing, and nothing goes back."""


class ReleaseConflict(WireStruct, frozen=True, kw_only=True):
    """An add-on of a profile that is not applied, as the add-on of another profile has the release that it wants."""

    addon: str
    """Its full name."""
    release: str
    """As namespace/name."""
    owner: str
    """The full name of the add-on that has it."""
    priority: int
    """Of its profile: the lower number wins, and among equals the one that has it."""
    owner_priority: int

    def __str__(self) -> str:
        if self.priority == self.owner_priority:
            ranks = f"both profiles have priority {self.priority}, and the first keeps it"
        else:
            ranks = f"priority {self.owner_priority} wins over {self.priority}"
        return f"the release {self.release} is that of {self.owner}: {ranks}"


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
    releases: dict[str, str] = msgspec.field(default_factory=dict)
    """The Helm release of each add-on that is one, as namespace/name, by the add-on's full name."""
    leaves: tuple[str, ...] = ()
    """Full names of those that would stay if their profile selected the cluster no longer."""
    conflicts: tuple[ReleaseConflict, ...] = ()
    rollouts: dict[str, RolloutMark] = msgspec.field(default_factory=dict)
    """By profile, of those that have a rollout."""
    as_of: datetime = EPOCH
    """When this was found to differ from the one before (UTC)."""
