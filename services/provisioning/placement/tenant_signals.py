"""What clusters' own states tell of one another: who waits for the market, and which clouds refused a tenant."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from schemas.cluster import ClusterState, Placing, Released, Waiting
from schemas.entity import State
from schemas.founding import MarketMoved
from schemas.placement import Attempt
from schemas.subjects import Key
from services.provisioning.placement.cooldowns import memory, remembered


class Neighbours:
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
        if refused := tuple(attempt for attempt in _failed(state) if memory(attempt.reason).shared):
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
            if other != key and remembered(attempt, now)
        )

    def moved(self, accelerators: Iterable[str]) -> Iterator[tuple[Key, MarketMoved]]:
        """Machines with these came on the market: who waits for one of them is told."""
        there = frozenset(accelerators)
        return ((key, MarketMoved()) for key, wanted in tuple(self._waiting.items()) if wanted & there)

    def freed(self, state: Released) -> Iterator[tuple[Key, MarketMoved]]:
        """A cluster's machines were given back."""
        return self.moved(pool.accelerator for pool in state.wish.need.pools)


def _failed(state: State) -> tuple[Attempt, ...]:
    if not isinstance(state, ClusterState) or isinstance(state, Released):
        return ()
    current = state.attempt if isinstance(state, Placing) else None
    return (*state.tried, current) if current is not None else state.tried
