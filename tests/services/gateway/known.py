"""What is known of one cluster, whole and in parts, for tests of what is shown of it."""

from datetime import UTC, datetime, timedelta

import msgspec

from schemas import addon, cluster, teardown
from schemas.inventory import ClusterSeen
from schemas.placement import Attempt, Placement
from schemas.wish import AddonRef, Limits, Need, Wish
from services.gateway.status.facts import Facts
from tests import samples

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
THEN = NOW - timedelta(hours=1)
COLONY = {"metadata": {"name": "train", "namespace": "acme", "uid": "c1", "generation": 3}}
NEED = Need(pools=(samples.POOL,))
WISH = Wish(
    tenant="acme", colony="train", cluster="a", uid="c1", generation=3, need=NEED,
    limits=Limits(time_to_live_seconds=7200.0), addons=(AddonRef("driver", "d1"),),
)  # fmt: skip
LOT = msgspec.structs.replace(samples.LOT, zone="az1", price_per_hour=10.25)
PLACEMENT = Placement(cloud="aws", region="us-east-1", lots=(LOT,))
ATTEMPT = Attempt(number=2, placement=PLACEMENT)


def _reason(kind):
    if issubclass(kind, teardown.TeardownState):
        return "Idle"
    return "PriceCap" if kind in (cluster.Waiting, cluster.Stalled) else "Deleted"


def is_(kind, **fields):
    known = {
        "uid": "u1", "wish": WISH, "since": THEN.replace(microsecond=5), "attempt": ATTEMPT, "attempts": 2,
        "billed_since": THEN, "deadline": NOW, "kubeconfig": "train-a-2-kubeconfig", "next_best_per_hour": 30.0,
        "reason": _reason(kind), "message": "too dear", "until": NOW,
        "ready_since": THEN, "proof": {}, "step": "Releasing", "cost_usd": 1.5, "began": THEN,
    } | fields  # fmt: skip
    return kind(**{name: value for name, value in known.items() if name in kind.__struct_fields__})


def put_on(kind, **fields):
    known = {"uid": "u1", "tenant": "acme", "colony": "train", "cluster": "train-a", "addon": "driver"} | {
        "digest": "d1", "until": NOW, "retry_at": NOW, "message": "bad manifest",
    }  # fmt: skip
    return kind(**{n: v for n, v in (known | fields).items() if n in kind.__struct_fields__})


SEEN = ClusterSeen(cluster="train-a", uid="u1", attempt=2, nodes=1, accelerators=8, idle_since=THEN)
WHOLE = Facts(
    WISH,
    cluster=is_(cluster.Ready),
    teardown=is_(teardown.Armed),
    addons=(put_on(addon.Applied),),
    seen=msgspec.structs.replace(SEEN, nodes=2, accelerators=16),
)
