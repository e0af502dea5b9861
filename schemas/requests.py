"""Requests that anyone who may publish can make: a Colony, its release or change, an AddonProfile, its withdrawal."""

from msgspec import UNSET, UnsetType

from schemas.registry import WireStruct, intake


@intake("cluster.request", "cluster.requested", "cluster.requested.{tenant}")
class ClusterRequest(WireStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request for clusters: a Colony's spec under a name; the gateway creates the Colony.

    The subject with the tenant in it says the same, so that a tenant's permission can be this and no more.
    """

    tenant: str
    """The namespace in which the Colony is created."""
    name: str
    """The Colony's name; the same name again is the same Colony."""
    spec: dict[str, object]
    """As in a Colony: see the Colony's schema."""
    origin: str = "nats"
    """Where the request came from; kept as a label."""


@intake("colony.release", "colony.release.{tenant}.{name}")
class ReleaseRequest(WireStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request to delete a Colony; the gateway deletes it.

    The subject names it, so that a request which is heard late can be held against what was said after it.
    """

    tenant: str
    """The Colony's namespace."""
    name: str
    origin: str = ""
    """Delete it only if it has this origin; empty: any origin."""
    force: bool = False
    """Release its clusters' machines at once: wait for nothing in the clusters."""


@intake("colony.scale", "colony.scale.{tenant}.{name}.{cluster}")
class ScaleRequest(WireStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request for other numbers of nodes in a cluster's pools; the gateway writes it into the Colony.

    The last word on a cluster counts: one that still waits when another comes is passed over.
    """

    tenant: str
    """The Colony's namespace."""
    name: str
    """The Colony's."""
    cluster: str
    """Its name within the Colony."""
    nodes: dict[str, int]
    """Number of nodes by pool; pools that are not named stay as they are."""


@intake("colony.extend", "colony.extend.{tenant}.{name}.{cluster}")
class ExtendRequest(WireStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request for a longer time to live of a cluster; the gateway writes it into the Colony.

    It never shortens a life: heard twice, late, or after a longer one, it changes nothing.
    """

    tenant: str
    """The Colony's namespace."""
    name: str
    """The Colony's."""
    cluster: str
    """Its name within the Colony."""
    time_to_live: str
    """The new ``timeToLive`` if it is longer, such as 12h, counted from when the cluster was first ready."""


class RequestingTrigger(WireStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The Trigger that requests an AddonProfile, which is deleted with it."""

    name: str
    uid: str


@intake("profile.request", "profile.requested.{tenant}")
class ProfileRequest(WireStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request for add-ons: an AddonProfile's spec under a name; the gateway creates the AddonProfile."""

    tenant: str
    """The namespace in which the AddonProfile is created."""
    name: str
    """The AddonProfile's name; the same name and origin again is the same AddonProfile."""
    spec: dict[str, object]
    """As in an AddonProfile: see its schema."""
    origin: str = "nats"
    """Where the request came from; kept as a label. An AddonProfile of another origin is never changed."""
    expires_after: str = ""
    """When the AddonProfile is deleted, such as 12h, counted from the request; empty: never."""
    trigger: RequestingTrigger | UnsetType = UNSET
    """Its owner; without one it is deleted with nothing."""


@intake("profile.withdraw", "profile.withdraw.{tenant}.{name}")
class WithdrawRequest(WireStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request to delete an AddonProfile; the gateway deletes it."""

    tenant: str
    """The AddonProfile's namespace."""
    name: str
    origin: str = "nats"
    """Delete it only if it has this origin."""
