"""Explains a cluster from its history: what was requested, attempted and spent, and what it waits for."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from schemas.cluster import (
    ClusterState,
    Hibernated,
    Launching,
    Pending,
    Placed,
    Placing,
    Provisioned,
    Ready,
    Released,
    Releasing,
    Stalled,
    UnmetDemand,
    Upgrading,
    Waiting,
)
from schemas.placement import Attempt, Placement
from schemas.registry import WireStruct, declared
from schemas.wish import Need
from services.colony.accounting import billed_attempt, so_far

HOUR = timedelta(hours=1)
LATE = ", which takes longer than it should"
BUYS = "what the market has for its new pools"


class Tried(WireStruct, frozen=True, kw_only=True):
    """One attempt, from its choice to its release."""

    number: int
    placement: Placement
    price_per_hour: float
    """USD, at its present size."""
    began: datetime
    next_best_per_hour: float | None = None
    """USD at the same size, by the price of the next best placement at the time; None without one."""
    reason: str = ""
    """Why it failed."""
    message: str = ""
    failed_at: datetime | None = None
    ended: datetime | None = None
    """When its release was confirmed; None: its machines are still billed."""
    cost_usd: float = 0.0
    """So far."""
    saved_usd: float | None = None
    """Against the next best at the same size, so far; negative if that one counted as dearer than its price."""


class Account(WireStruct, frozen=True, kw_only=True):
    """The explanation of a cluster."""

    tenant: str
    name: str
    colony: str
    state: str
    since: datetime
    need: Need
    """What it consists of, or what is requested."""
    asked_at: datetime
    """When this incarnation began."""
    before: int
    """Earlier incarnations under the name."""
    attempts: tuple[Tried, ...]
    cost_usd: float
    """All attempts, so far."""
    interruptions: int
    refused: str
    """Why the newest wish is refused."""
    waits_for: str
    """Empty: for nothing."""
    reason: str
    """Why it is being deleted, or was."""


WAITS: Mapping[type[ClusterState], Callable[[Any], str]] = {
    Pending: lambda _: "an answer of the market",
    Placing: lambda s: _going(s.attempt, s) if s.attempt else "an answer of the market",
    Waiting: lambda s: f"the market, asked again at {_clock(s.until)}: {s.reason}: {s.message}",
    Launching: lambda s: s.blocked or f"its API to answer, until {_clock(s.deadline)} at the latest",
    Hibernated: lambda s: "its machines to be gone" if s.resizing else _version(s.upgrading),
    Ready: lambda s: BUYS if s.wanted else _size(s) if s.resizing else _version(s.upgrading) or _more(s.unmet_demand),
    Provisioned: lambda s: f"all {s.wish.need.accelerators} accelerators, until {_clock(s.deadline)} at the latest",
    Stalled: lambda s: f"another wish, or what is not installed: {s.reason}: {s.message}",
    Releasing: lambda s: _going(s.attempt, s),
}
"""What each state waits for; others wait for nothing."""


class _Life:
    """One attempt, collected from successive states."""

    def __init__(self, begun: Launching) -> None:
        self.begun = begun
        self.attempt = begun.attempt
        self.ended: datetime | None = None
        self.sizes = {begun.billed_since: begun.attempt.placement}
        """By when it began to cost what that says."""

    def told(self, now: datetime) -> Tried:
        """The attempt until now."""
        failed, other = self.attempt, self._next_best()
        spent, unspent = self._spent(now)
        return Tried(
            number=failed.number,
            placement=failed.placement,
            price_per_hour=failed.placement.price_per_hour,
            began=self.begun.billed_since,
            next_best_per_hour=None if other is None else round(other * failed.placement.nodes, 6),
            reason=failed.reason,
            message=failed.message,
            failed_at=failed.failed_at if failed.reason else None,
            ended=self.ended,
            cost_usd=round(spent, 6),
            saved_usd=None if other is None or failed.reason else round(unspent - spent, 6),
        )

    def _next_best(self) -> float | None:
        """The price per node of the next best placement; an adopted cluster had none."""
        whole = self.begun.next_best_per_hour
        return None if whole is None else whole / self.begun.attempt.placement.nodes

    def _spent(self, now: datetime) -> tuple[float, float]:
        """Its cost so far, and what the next best placement would have cost at the same size."""
        began = [*self.sizes, self.ended or now]
        pieces = [((end - start) / HOUR, self.sizes[start]) for start, end in pairwise(began)]
        each = self._next_best() or 0.0
        return (
            sum(hours * size.price_per_hour for hours, size in pieces),
            sum(hours * each * size.nodes for hours, size in pieces),
        )


def account(history: Sequence[ClusterState], now: datetime) -> Account:
    """Explain the newest incarnation from all stored states (at least one), oldest first."""
    last = history[-1]
    lived = [state for state in history if state.uid == last.uid]
    return Account(
        tenant=last.wish.tenant,
        name=last.wish.name,
        colony=last.wish.colony,
        state=declared(type(last)).event,
        since=last.since,
        need=last.wish.need,
        asked_at=lived[0].since,
        before=len({state.uid for state in history}) - 1,
        attempts=tuple(life.told(now) for life in _lives(lived).values()),
        cost_usd=so_far(last, now),
        interruptions=last.interruptions,
        refused=last.refused if isinstance(last, Placed) else "",
        waits_for=WAITS.get(type(last), lambda _: "")(last),
        reason=last.reason if isinstance(last, Releasing | Released) else "",
    )


def _lives(lived: Iterable[ClusterState]) -> dict[int, _Life]:
    """Every attempt by its number: from its choice until no state names it."""
    found: dict[int, _Life] = {}
    for state in lived:
        own, since = billed_attempt(state)
        for life in found.values():
            if life.ended is None and (own is None or own.number != life.attempt.number):
                life.ended = state.since
        if isinstance(state, Launching):
            found.setdefault(state.attempt.number, _Life(state))
        if own is not None and since is not None and own.number in found:
            found[own.number].attempt = own
            found[own.number].sizes[since] = own.placement
        for attempt in state.failed_attempts:
            if attempt.number in found:
                found[attempt.number].attempt = attempt
    return found


def _going(attempt: Attempt, state: Placing | Releasing) -> str:
    return ": ".join(filter(None, (f"attempt {attempt.number} to be gone", state.blocked)))


def _size(state: Ready) -> str:
    late = state.resizing is not None and state.resizing.late
    return f"its new size of {state.wish.need.nodes} nodes{LATE * late}"


def _more(ungrown: UnmetDemand | None) -> str:
    return f"more nodes: {ungrown.reason}: {ungrown.message}" if ungrown else ""


def _version(upgrading: Upgrading | None) -> str:
    return f"all of it to run {upgrading.version}{LATE * upgrading.late}" if upgrading else ""


def _clock(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S} UTC"
