"""What the states of other clusters mean for a placement: reservations, waiting clusters, refused credentials.

A reservation is a cluster that has an attempt: from the publish of Launching until the attempt is released, by Gone or
by the limit on a launch that failed. These states are on the bus already, survive every restart, and end by themselves;
a ledger beside them would be a second truth. They cannot refuse a second publish: two clusters may choose the last
machines at the same moment. So a cluster that has chosen limited machines looks again before it buys, once its own
choice has come back: in the order of the stream, earlier choices count first, and one that does not fit beside all
earlier ones goes elsewhere. Of those that were let through, the last one saw all others.
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
    """The number of machines of each kind that an attempt takes, or may take at any moment."""
    taken: Counter[MachineKey] = Counter()
    for lot in attempt.placement.lots:
        taken[attempt.placement.cloud, attempt.placement.region, lot.zone, lot.instance] += lot.most
    return taken


def total_machines(attempts: Iterable[Attempt]) -> Counter[MachineKey]:
    """The number of machines of each kind that these attempts take together."""
    taken: Counter[MachineKey] = Counter()
    for attempt in attempts:
        taken.update(machines_of(attempt))
    return taken


def exceeded(limits: Mapping[MachineKey, int], taken: Mapping[MachineKey, int]) -> MachineKey | None:
    """A kind of machine of which more are taken than exist; None if there is none."""
    return next((stock for stock, limit in limits.items() if taken.get(stock, 0) > limit), None)


class Reservation(NamedTuple):
    """One incarnation of a cluster, and its attempt."""

    uid: str
    attempt: Attempt


class Reservations:
    """Updated with every state, so that a query does not depend on the number of clusters."""

    def __init__(self) -> None:
        self.taken: Counter[MachineKey] = Counter()
        """The number of machines of each kind that all clusters have together; read-only."""
        self._holders: dict[Key, Reservation] = {}
        self._of: dict[MachineKey, dict[Key, Reservation]] = {}

    def note(self, key: Key, state: State) -> None:
        """Take a cluster's newest state into account."""
        self.drop(key)
        attempt = held_attempt(state)
        if attempt is not None:
            self._holders[key] = holder = Reservation(state.uid, attempt)
            self.taken.update(machines_of(attempt))
            for stock in machines_of(attempt):
                self._of.setdefault(stock, {})[key] = holder

    def drop(self, key: Key) -> None:
        """Forget a cluster."""
        before = self._holders.pop(key, None)
        if before is not None:
            self.taken.subtract(machines_of(before.attempt))
            for stock in machines_of(before.attempt):
                del self._of[stock][key]

    def taken_by_others(self, key: Key | None) -> Counter[MachineKey]:
        """The number of machines of each kind that all clusters but one have now."""
        rest, own = self.taken.copy(), self._holders.get(key) if key is not None else None
        if own is not None:
            rest.subtract(machines_of(own.attempt))
        return rest

    def holding(self, stocks: Iterable[MachineKey]) -> dict[Key, Reservation]:
        """The clusters that have any of these machines."""
        return {key: holder for stock in stocks for key, holder in self._of.get(stock, {}).items()}


class TenantSignals:
    """Updated with every state, so that a query does not depend on the number of clusters."""

    def __init__(self) -> None:
        self._waiting: dict[Key, frozenset[str]] = {}
        """The accelerators that each waiting cluster needs."""
        self._refused: dict[str, dict[Key, tuple[Attempt, ...]]] = {}
        """By tenant: the attempts whose credentials were refused."""

    def note(self, key: Key, state: State) -> None:
        """Take a cluster's newest state into account."""
        self.drop(key)
        if isinstance(state, Waiting):
            self._waiting[key] = frozenset(pool.accelerator for pool in state.wish.need.pools)
        if refused := tuple(attempt for attempt in _failed_attempts(state) if cooldown(attempt.reason).shared):
            self._refused.setdefault(key.tenant, {})[key] = refused

    def drop(self, key: Key) -> None:
        """Forget a cluster."""
        self._waiting.pop(key, None)
        refused = self._refused.get(key.tenant, {})
        if refused.pop(key, None) and not refused:
            del self._refused[key.tenant]

    def denied(self, key: Key, now: datetime) -> frozenset[str]:
        """The clouds that recently refused the tenant's credential to its other clusters."""
        refused = self._refused.get(key.tenant, {})
        return frozenset(
            attempt.placement.cloud
            for other, attempts in refused.items()
            for attempt in attempts
            if other != key and still_counts(attempt, now)
        )

    def market_moved(self, accelerators: Iterable[str]) -> Iterator[tuple[Key, MarketChanged]]:
        """An event for each waiting cluster that needs one of these newly offered accelerators."""
        there = frozenset(accelerators)
        return ((key, MarketChanged()) for key, wanted in tuple(self._waiting.items()) if wanted & there)

    def machines_released(self, state: Released) -> Iterator[tuple[Key, MarketChanged]]:
        """An event for each waiting cluster that could use the machines of a released one."""
        return self.market_moved(pool.accelerator for pool in state.wish.need.pools)


def _failed_attempts(state: State) -> tuple[Attempt, ...]:
    if not isinstance(state, ClusterState) or isinstance(state, Released):
        return ()
    current = state.attempt if isinstance(state, Placing) else None
    return (*state.failed_attempts, current) if current is not None else state.failed_attempts
