"""What clouds refused or interrupted recently makes the same offers less attractive for a while."""

import math
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from schemas.cluster import Placing, Provisioned, Ready
from schemas.entity import State
from schemas.inventory import Offer
from schemas.market import CapacityRefusal, CapacitySeen
from schemas.placement import Attempt, Lot

RegionKey = tuple[str, str]
"""Cloud and region."""
MARKET_REASONS = ("NoCapacity", "Quota")
"""The reasons of a failed attempt that say something about the market; others concern the request."""
REFUSAL_FACTOR = 3.0
"""An offer refused just now compares as this many times its price more expensive. It is never excluded: if nothing else
fits, asking again is better than stalling."""
INTERRUPTED = "Interrupted"
INTERRUPTION_HALF_LIVES = 12
"""An interruption lasts as many half-lives of a refusal: spot machines are bought for hours."""
INTERRUPTION_HOURS = 1.0
"""The cost of one interruption in hours of the cluster: launching again, and the work since the last checkpoint."""
FORGET_AFTER = 8
"""Half-lives after which a refusal weighs nothing (less than 1 in 250)."""
MOST_REFUSALS = 200
"""Refusals kept per region: the newest."""


def refusals(state: State) -> Iterator[tuple[RegionKey, CapacityRefusal]]:
    """What the last failed attempt says about the market, by region; repeated until the next attempt has failed.

    A cluster on spot machines that was complete, and is not, reports an interruption.
    """
    if isinstance(state, Provisioned) and state.was_ready:
        yield from _interruptions(state)
    failed = (*state.failed_attempts, *filter(None, (state.attempt,)))[-1:] if isinstance(state, Placing) else ()
    for attempt in failed:
        for lot in blamed_lots(attempt) if attempt.reason in MARKET_REASONS else ():
            place = (attempt.placement.cloud, attempt.placement.region)
            yield place, _refusal(attempt.reason, lot, state, f"{state.uid}/{attempt.number}")


def _interruptions(state: Provisioned) -> Iterator[tuple[RegionKey, CapacityRefusal]]:
    place = (state.attempt.placement.cloud, state.attempt.placement.region)
    identity = f"{state.uid}/{state.attempt.number}/{state.interruptions}"
    for lot in state.attempt.placement.lots:
        if lot.spot:
            yield place, _refusal(INTERRUPTED, lot, state, identity)


def _refusal(reason: str, lot: Lot, state: State, attempt: str) -> CapacityRefusal:
    return CapacityRefusal(
        reason=reason,
        instance=lot.instance,
        accelerator=lot.accelerator,
        zone=lot.zone,
        spot=lot.spot,
        at=state.since,
        attempt=attempt,
    )


def blamed_lots(attempt: Attempt) -> tuple[Lot, ...]:
    """The lots that the message means, by the machine, zone and market it names; all if it names none.

    Clouds say spot if they mean it, so of a machine that was bought both ways, only one is closed.
    """
    message, lots = attempt.message, attempt.placement.lots
    named, spot = tuple(lot for lot in lots if lot.instance in message), "spot" in message.lower()
    lots = named or lots
    lots = tuple(lot for lot in lots if lot.zone and lot.zone in message) or lots
    return tuple(lot for lot in lots if lot.spot is spot and (named or spot)) or lots


def learn(seen: CapacitySeen, refusals: Iterable[CapacityRefusal], now: datetime) -> CapacitySeen:
    """Add new refusals, each attempt's lot once, and drop those that no longer weigh anything."""
    known = {_refusal_key(refusal) for refusal in seen.refusals}
    new = {_refusal_key(r): r for r in refusals if r.at > _oldest(seen, r, now) and _refusal_key(r) not in known}
    if not new:
        return seen
    fresh = (r for r in (*seen.refusals, *new.values()) if r.at > _oldest(seen, r, now))
    ordered = sorted(fresh, key=lambda r: (r.at, _refusal_key(r)))
    return seen.but(refusals=tuple(ordered[-MOST_REFUSALS:]))


def _oldest(seen: CapacitySeen, refusal: CapacityRefusal, now: datetime) -> datetime:
    return now - FORGET_AFTER * timedelta(seconds=_half_life(seen, refusal.reason))


def _half_life(seen: CapacitySeen, reason: str) -> float:
    return seen.half_life_seconds * (INTERRUPTION_HALF_LIVES if reason == INTERRUPTED else 1)


def forgive(seen: CapacitySeen, ready: Ready) -> CapacitySeen:
    """Drop the refusals that a cluster on the same machines has since disproved; interruptions stay."""
    lots = ready.attempt.placement.lots
    left = [
        r
        for r in seen.refusals
        if r.at >= ready.since or r.reason == INTERRUPTED or not any(concerns(r, lot, spot=lot.spot) for lot in lots)
    ]
    return seen.but(refusals=tuple(left))


def refusal_weight(seen: CapacitySeen, machine: Lot | Offer, *, spot: bool, now: datetime) -> float:
    """The weight of refusals: 1 for one just now, half of it a half-life later, all added up."""
    return _weigh(seen, (r for r in seen.refusals if r.reason != INTERRUPTED and concerns(r, machine, spot=spot)), now)


def interruptions(seen: CapacitySeen, machine: Lot | Offer, *, spot: bool, now: datetime) -> float:
    """Expected interruptions per hour: a count that halves every half-life H stands for count * ln 2 / H."""
    against = (r for r in seen.refusals if r.reason == INTERRUPTED and concerns(r, machine, spot=spot))
    return _weigh(seen, against, now) * math.log(2) * 3600 / _half_life(seen, INTERRUPTED)


def _weigh(seen: CapacitySeen, against: Iterable[CapacityRefusal], now: datetime) -> float:
    aged = ((max(0.0, (now - r.at).total_seconds()), _half_life(seen, r.reason)) for r in against)
    return math.fsum(math.exp2(-age / half_life) for age, half_life in aged)


def price_factor(seen: CapacitySeen, machine: Lot | Offer, *, spot: bool, now: datetime) -> float:
    """The factor that a price is compared with; the price paid stays the same.

    (1 + REFUSAL_FACTOR * refusals) * (1 + INTERRUPTION_HOURS * interruptions per hour): an hour of work on machines
    that are interrupted r times an hour costs what 1 + INTERRUPTION_HOURS * r hours on them cost.
    """
    refused = 1.0 + REFUSAL_FACTOR * refusal_weight(seen, machine, spot=spot, now=now)
    return refused * (1.0 + INTERRUPTION_HOURS * interruptions(seen, machine, spot=spot, now=now))


def concerns(refusal: CapacityRefusal, machine: Lot | Offer, *, spot: bool) -> bool:
    """Missing capacity concerns one zone's machines, an interruption a region's, a quota a region's accelerators.

    If no zone was asked for, capacity is missing in all of them.
    """
    if refusal.spot != spot:
        return False
    if refusal.reason == "Quota":
        return refusal.accelerator == machine.accelerator
    if refusal.reason == INTERRUPTED:
        return refusal.instance == machine.instance
    return refusal.zone in ("", machine.zone) and refusal.instance == machine.instance


def _refusal_key(refusal: CapacityRefusal) -> tuple[str, str, str, bool]:
    return (refusal.attempt, refusal.zone, refusal.instance, refusal.spot)
