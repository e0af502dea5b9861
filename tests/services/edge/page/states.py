"""States of a cluster, its teardown and its add-ons as the services publish them, for the tests of the page."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from schemas import addon, cluster, teardown
from schemas.inventory import ClusterSeen
from schemas.placement import Attempt, Placement
from schemas.registry import declared
from schemas.wish import Limits, Need, Wish
from tests import samples

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
"""As the clock of the tests shows it."""
BEGAN = NOW - timedelta(hours=2)
LOT = msgspec.structs.replace(samples.LOT, price_per_hour=20.5)
PLACEMENT = Placement(cloud="aws", region="us-east-1", lots=(LOT,))


def wish(tenant: str = "acme", colony: str = "train", **fields: Any) -> Wish:
    """What a Colony asks for: two nodes of eight H100 for six hours."""
    known: dict[str, Any] = {
        "need": Need(pools=(samples.POOL,)),
        "limits": Limits(time_to_live_seconds=6 * 3600.0),
    } | fields
    return Wish(tenant=tenant, colony=colony, cluster="gpu", uid="c1", generation=1, **known)


def _reason(kind: type) -> str:
    if issubclass(kind, teardown.TeardownState):
        return "Idle"
    return "NoOfferFits" if kind in (cluster.Waiting, cluster.Stalled) else "Deleted"


def state(kind: Any, asked: Wish | None = None, **fields: Any):
    """A state of a cluster or of its teardown; what is not given is made up."""
    known: dict[str, Any] = {
        "uid": "u1", "wish": asked or wish(), "since": BEGAN, "attempt": Attempt(number=1, placement=PLACEMENT),
        "attempts": 1, "billed_since": BEGAN, "deadline": NOW, "kubeconfig": "k",
        "reason": _reason(kind), "message": "no offer fits", "until": NOW, "ready_since": BEGAN,
        "proof": {}, "step": "Releasing", "began": BEGAN,
    } | fields  # fmt: skip
    return kind(**{name: value for name, value in known.items() if name in kind.__struct_fields__})


def addon_state(kind: Any, name: str = "driver", **fields: Any):
    """A state of an add-on."""
    known: dict[str, Any] = {
        "uid": "u1", "tenant": "acme", "colony": "train", "cluster": "train-gpu", "addon": name, "digest": "d1",
        "since": BEGAN, "until": NOW, "retry_at": NOW, "message": "no such class",
    } | fields  # fmt: skip
    return kind(**{name: value for name, value in known.items() if name in kind.__struct_fields__})


def seen(**fields: Any) -> ClusterSeen:
    """What the inventory counted: all is there, half of it in use."""
    return ClusterSeen(**{"cluster": "train-gpu", "uid": "u1", "nodes": 2, "accelerators": 16, "allocated": 8} | fields)


def subject(one: object, tenant: str = "acme", name: str = "train-gpu") -> str:
    """Where a state or a snapshot is published."""
    if isinstance(one, addon.AddonState):
        return declared(type(one)).at(tenant, addon.addon_name(name, one.addon))
    if isinstance(one, cluster.ClusterState | teardown.TeardownState):
        return declared(type(one)).at(one.wish.tenant, one.wish.name)
    return declared(type(one)).at(tenant, name)
