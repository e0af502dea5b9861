"""A cluster's life, as teardown is told of it."""

from datetime import UTC, datetime, timedelta

from schemas.cluster import Ready
from schemas.placement import Attempt, Lot, Placement
from schemas.wish import Limits, Need, Pool, Wish
from services.teardown.decide import decide

T0 = datetime(2026, 1, 1, tzinfo=UTC)
LOT = Lot(
    pool="gpu", instance="x", zone="", accelerator="H100", accelerators_per_node=8,
    nodes=1, price_per_hour=1.0, spot=False,
)  # fmt: skip
ATTEMPT = Attempt(number=1, placement=Placement(cloud="aws", region="r", lots=(LOT,)))


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def cluster(kind=Ready, second=0.0, *, limits=Limits(), uid="u1", adopt=None, **asked):  # noqa: B008 - frozen
    pools = (Pool(name="gpu", accelerator="H100", accelerators_per_node=8, nodes=1),)
    wish = Wish(
        tenant="acme", colony="train", cluster="a", uid="c1", generation=1,
        need=Need(pools=pools, adopt=adopt), limits=limits, **asked,
    )  # fmt: skip
    known = {"attempt": ATTEMPT, "billed_since": T0, "kubeconfig": "k", "deadline": T0, "reason": "Deleted"}
    fields = {name: value for name, value in known.items() if name in kind.__struct_fields__}
    return kind(uid=uid, since=at(second), wish=wish, **fields)


def tell(state, event, second=0.0):
    return decide.decide(state, event, at(second))


def armed(**limits):
    return tell(None, cluster(limits=Limits(**limits)))
