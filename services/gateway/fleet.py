"""How many accelerators there are, and what they cost, is told to whoever scrapes, by model and by cloud."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from schemas.cluster import LIFECYCLE, ClusterState, Founded, Placement, Placing, Ready, Released, Releasing
from schemas.registry import declared
from services.bill import cost

WANTED = "alate.fleet.accelerators.wanted"
"""Accelerators that clusters which have not ended ask for, by model."""
READY = "alate.fleet.accelerators.ready"
"""Accelerators of clusters that are ready, by model."""
PRICE = "alate.fleet.usd_per_hour"
"""What all that is paid for costs in an hour, by cloud."""
COST = "alate.fleet.usd"
"""What the clusters that are known have cost so far, by their state; one that ended is known for some days."""
Labels = tuple[tuple[str, str], ...]
Parts = Iterator[tuple[Labels, float]]


def fleet(states: Iterable[ClusterState], now: datetime) -> Mapping[str, dict[Labels, float]]:
    """The series, by gauge."""
    known = tuple(states)
    held = [(state, *_held(state)) for state in known]
    lots = [(state, placement.cloud, lot) for state, placement, _ in held if placement for lot in placement.lots]
    return {
        WANTED: _sums(
            (_labels(("accelerator", pool.accelerator)), pool.nodes * pool.accelerators_per_node)
            for state in known
            if not isinstance(state, Released)
            for pool in state.wish.need.pools
        ),
        READY: _sums(
            (_labels(("accelerator", lot.accelerator)), lot.nodes * lot.accelerators_per_node)
            for state, _, lot in lots
            if isinstance(state, Ready)
        ),
        PRICE: _sums(
            (_labels(("cloud", cloud), ("spot", str(lot.spot).lower())), lot.nodes * lot.price_per_hour)
            for _, cloud, lot in lots
        ),
        COST: _sums(
            (_labels(("state", declared(type(state)).event)), cost(state, at, since, now) if at else state.cost_usd)
            for state, at, since in held
        ),
    }


def _held(state: ClusterState) -> tuple[Placement | None, datetime | None]:
    """What is paid for now, and since when."""
    if isinstance(state, Founded | Releasing | Placing) and state.attempt:
        return state.attempt.placement, state.billed_since
    return None, None


def _sums(parts: Parts) -> dict[Labels, float]:
    found: dict[Labels, float] = {}
    for labels, part in parts:
        found[labels] = found.get(labels, 0.0) + part
    return found


def _labels(*more: tuple[str, str]) -> Labels:
    return (("domain", LIFECYCLE.domain), *more)
