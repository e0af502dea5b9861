"""Who holds limited machines is read off the clusters' own states, so that no ledger can disagree with them.

A reservation is a cluster that has an attempt: from the publish of Launching until the attempt is released, by Gone or
by the limit on a launch that came to nothing. These states are on the bus already, survive every restart, and end by
themselves; a ledger beside them would be a second truth. What they cannot do is refuse a second publish: two clusters
may choose the last machines at the same moment. So whoever has chosen limited machines looks again before buying,
once its own choice has come back to it: in the one order of the stream, who held first counts, whoever does not fit
beside all those before it goes elsewhere. Of those that were let through, the last one saw all others.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from schemas.attempts import MarketChanged
from schemas.cluster import ClusterState, Placed, Placing, Released, Releasing, Waiting
from schemas.entity import State
from schemas.placement import Attempt
from schemas.subjects import Key
from services.provisioning.placement.cooldowns import cooldown, still_counts

MachineKey = tuple[str, str, str, str]
"""Cloud, region, zone, instance type."""


def held_attempt(state: State) -> Attempt | None:
    """The attempt whose machines a cluster has, or may have."""
    return state.attempt if isinstance(state, Placing | Placed | Releasing) else None


def machines_of(attempt: Attempt) -> Counter[MachineKey]:
    """How many machines of each kind an attempt takes, or may take any moment."""
    taken: Counter[MachineKey] = Counter()
    for lot in attempt.placement.lots:
        taken[attempt.placement.cloud, attempt.placement.region, lot.zone, lot.instance] += lot.most
    return taken


def total_machines(attempts: Iterable[Attempt]) -> Counter[MachineKey]:
    """How many machines of each kind these take together."""
    taken: Counter[MachineKey] = Counter()
    for attempt in attempts:
        taken.update(machines_of(attempt))
    return taken


def exceeded(limits: Mapping[MachineKey, int], taken: Mapping[MachineKey, int]) -> MachineKey | None:
    """A kind of machine of which more are taken than there are; None: there are enough of all."""
    return next((stock for stock, limit in limits.items() if taken.get(stock, 0) > limit), None)


class Reservation(NamedTuple):
    """One incarnation of a cluster, and what it holds."""

    uid: str
    attempt: Attempt


class Reservations:
    """Kept from state to state, so that asking costs nothing that grows with the number of clusters."""

    def __init__(self) -> None:
        self.taken: Counter[MachineKey] = Counter()
        """How many machines of each kind all clusters have together; not to be changed."""
        self._holders: dict[Key, Reservation] = {}
        self._of: dict[MachineKey, dict[Key, Reservation]] = {}

    def note(self, key: Key, state: State) -> None:
        """A cluster's newest state."""
        self.drop(key)
        attempt = held_attempt(state)
        if attempt is not None:
            self._holders[key] = holder = Reservation(state.uid, attempt)
            self.taken.update(machines_of(attempt))
            for stock in machines_of(attempt):
                self._of.setdefault(stock, {})[key] = holder

    def drop(self, key: Key) -> None:
        """Nothing is kept of a cluster any more."""
        before = self._holders.pop(key, None)
        if before is not None:
            self.taken.subtract(machines_of(before.attempt))
            for stock in machines_of(before.attempt):
                del self._of[stock][key]

    def beside(self, key: Key | None) -> Counter[MachineKey]:
        """How many machines of each kind all clusters (but one) have together now."""
        rest, own = self.taken.copy(), self._holders.get(key) if key is not None else None
        if own is not None:
            rest.subtract(machines_of(own.attempt))
        return rest

    def of(self, stocks: Iterable[MachineKey]) -> dict[Key, Reservation]:
        """Who holds any of these."""
        return {key: holder for stock in stocks for key, holder in self._of.get(stock, {}).items()}


class TenantSignals:
    """Kept from state to state, so that asking costs nothing that grows with the number of clusters."""

    def __init__(self) -> None:
        self._waiting: dict[Key, frozenset[str]] = {}
        """The accelerators each one waits for."""
        self._refused: dict[str, dict[Key, tuple[Attempt, ...]]] = {}
        """By tenant: the attempts that its credentials were refused for."""

    def note(self, key: Key, state: State) -> None:
        """A cluster's newest state."""
        self.drop(key)
        if isinstance(state, Waiting):
            self._waiting[key] = frozenset(pool.accelerator for pool in state.wish.need.pools)
        if refused := tuple(attempt for attempt in _failed_attempts(state) if cooldown(attempt.reason).shared):
            self._refused.setdefault(key.tenant, {})[key] = refused

    def drop(self, key: Key) -> None:
        """Nothing is kept of a cluster any more."""
        self._waiting.pop(key, None)
        refused = self._refused.get(key.tenant, {})
        if refused.pop(key, None) and not refused:
            del self._refused[key.tenant]

    def denied(self, key: Key, now: datetime) -> frozenset[str]:
        """The clouds that lately refused the tenant's credential to its other clusters."""
        told = self._refused.get(key.tenant, {})
        return frozenset(
            attempt.placement.cloud
            for other, attempts in told.items()
            for attempt in attempts
            if other != key and still_counts(attempt, now)
        )

    def moved(self, accelerators: Iterable[str]) -> Iterator[tuple[Key, MarketChanged]]:
        """Machines with these came on the market: who waits for one of them is told."""
        there = frozenset(accelerators)
        return ((key, MarketChanged()) for key, wanted in tuple(self._waiting.items()) if wanted & there)

    def freed(self, state: Released) -> Iterator[tuple[Key, MarketChanged]]:
        """A cluster's machines were given back."""
        return self.moved(pool.accelerator for pool in state.wish.need.pools)


def _failed_attempts(state: State) -> tuple[Attempt, ...]:
    if not isinstance(state, ClusterState) or isinstance(state, Released):
        return ()
    current = state.attempt if isinstance(state, Placing) else None
    return (*state.tried, current) if current is not None else state.tried
