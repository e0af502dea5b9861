"""The gauges of the whole fleet: entities by state and age, accelerators, prices and costs."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from msgspec import Struct

from schemas.cluster import LIFECYCLE, ClusterState, Ready, Released
from schemas.entity import Lifecycle, State
from schemas.placement import Lot
from schemas.registry import declared
from schemas.teardown import Cleaning, Draining, Gone
from services.colony.accounting import billed_attempt, so_far

WANTED = "alate.fleet.accelerators.wanted"
"""Accelerators that clusters which have not ended ask for, by model."""
READY = "alate.fleet.accelerators.ready"
"""Accelerators of clusters that are ready, by model."""
PRICE = "alate.fleet.usd_per_hour"
"""What all that is paid for costs in an hour, by cloud."""
COST = "alate.fleet.usd"
"""What the clusters that are known have cost so far, by their state; one that ended is known for some days."""
FleetLabels = tuple[tuple[str, str], ...]
LabelledAmounts = Iterator[tuple[tuple[str, ...], float]]
"""Values of labels, each with what is to be added."""


def fleet(states: Iterable[ClusterState], now: datetime) -> Mapping[str, dict[FleetLabels, float]]:
    """The series, by gauge."""
    known = tuple(states)
    return {
        WANTED: _sums(("accelerator",), _wanted(known)),
        READY: _sums(("accelerator",), _ready(known)),
        PRICE: _sums(("cloud", "spot"), _prices(known)),
        COST: _sums(("state",), _costs(known, now)),
    }


def _wanted(states: Iterable[ClusterState]) -> LabelledAmounts:
    for state in states:
        if not isinstance(state, Released):
            for pool in state.wish.need.pools:
                yield (pool.accelerator,), pool.nodes * pool.accelerators_per_node


def _ready(states: Iterable[ClusterState]) -> LabelledAmounts:
    for _, lot in _lots(state for state in states if isinstance(state, Ready)):
        yield (lot.accelerator,), lot.nodes * lot.accelerators_per_node


def _prices(states: Iterable[ClusterState]) -> LabelledAmounts:
    for cloud, lot in _lots(states):
        yield (cloud, "true" if lot.spot else "false"), lot.nodes * lot.price_per_hour


def _costs(states: Iterable[ClusterState], now: datetime) -> LabelledAmounts:
    for state in states:
        yield (declared(type(state)).event,), so_far(state, now)


def _lots(states: Iterable[ClusterState]) -> Iterator[tuple[str, Lot]]:
    """What is paid for, each with its cloud."""
    for state in states:
        attempt, _ = billed_attempt(state)
        if attempt:
            yield from ((attempt.placement.cloud, lot) for lot in attempt.placement.lots)


def _sums(names: tuple[str, ...], parts: LabelledAmounts) -> dict[FleetLabels, float]:
    found: dict[tuple[str, ...], float] = {}
    for values, part in parts:
        found[values] = found.get(values, 0.0) + part
    domain = ("domain", LIFECYCLE.domain)
    return {(domain, *zip(names, values, strict=True)): total for values, total in found.items()}


COUNT = "alate.entities"
"""Entities that have not ended, by state."""
OLDEST = "alate.state.oldest"
"""When the oldest entity of a state entered it: seconds since 1970."""
LEFT = "alate.teardown.left"
"""Ends of which something may be left, by the step that was given up; each is known for some days."""
STEPS = tuple(declared(step).phase for step in (Draining, Cleaning))
"""Those that can be given up."""
StateLabels = tuple[tuple[str, str], ...]


def ages(lifecycle: Lifecycle, states: Iterable[State]) -> Mapping[str, dict[StateLabels, float]]:
    """The series of one kind of entity, by gauge; of a state in which there is none, only the count."""
    known = list(states)
    found = [state for state in known if not isinstance(state, lifecycle.terminal)]
    live = [kind for kind in lifecycle.states if kind not in lifecycle.terminal]
    counts = {_labels(lifecycle, kind): float(sum(type(each) is kind for each in found)) for kind in live}
    oldest: dict[StateLabels, float] = {}
    for each in found:
        labels, since = _labels(lifecycle, type(each)), each.since.timestamp()
        oldest[labels] = min(since, oldest.get(labels, since))
    return {COUNT: counts, OLDEST: oldest, LEFT: _left(lifecycle, known)}


def _left(lifecycle: Lifecycle, states: Iterable[State]) -> dict[StateLabels, float]:
    if Gone not in lifecycle.states:
        return {}
    counts = Counter(each.step for state in states if isinstance(state, Gone) for each in state.skipped)
    return {(("domain", lifecycle.domain), ("step", step)): float(counts[step]) for step in STEPS}


def _labels(lifecycle: Lifecycle, kind: type[Struct]) -> StateLabels:
    return (("domain", lifecycle.domain), ("state", declared(kind).event))
