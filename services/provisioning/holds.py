"""Who holds limited machines is read off the clusters' own states, so that no ledger can disagree with them.

A reservation is a cluster that has an attempt: from the publish of Launching until the attempt is released, by Gone or
by the limit on a launch that came to nothing. These states are on the bus already, survive every restart, and end by
themselves; a ledger beside them would be a second truth. What they cannot do is refuse a second publish: two clusters
may choose the last machines at the same moment. So whoever has chosen limited machines looks again before buying,
once its own choice has come back to it: in the one order of the stream, who held first counts, whoever does not fit
beside all those before it goes elsewhere. Of those that were let through, the last one saw all others.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from schemas.cluster import Attempt, Founded, Placing, Releasing
from schemas.entity import State
from schemas.subjects import Key

Stock = tuple[str, str, str, str]
"""Cloud, region, zone, instance type."""


def holds(state: State) -> Attempt | None:
    """The attempt whose machines a cluster has, or may have."""
    return state.attempt if isinstance(state, Placing | Founded | Releasing) else None


def nodes(attempt: Attempt) -> Counter[Stock]:
    """How many machines of each kind an attempt takes."""
    taken: Counter[Stock] = Counter()
    for lot in attempt.placement.lots:
        taken[attempt.placement.cloud, attempt.placement.region, lot.zone, lot.instance] += lot.nodes
    return taken


def held(clusters: Iterable[tuple[Key, State]], but: Key | None = None) -> Counter[Stock]:
    """How many machines of each kind all clusters (but one) have together."""
    taken: Counter[Stock] = Counter()
    for key, state in clusters:
        if key != but and (attempt := holds(state)) is not None:
            taken += nodes(attempt)
    return taken


def excess(limits: Mapping[Stock, int], attempts: Iterable[Attempt]) -> Stock | None:
    """A kind of machine of which these attempts together take more than there are; None: they all fit."""
    taken: Counter[Stock] = Counter()
    for attempt in attempts:
        taken += nodes(attempt)
    return next((stock for stock, limit in limits.items() if taken[stock] > limit), None)
