"""What a cloud refused lately makes the same offer less attractive for a while, as pure functions of time."""

import math
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

import msgspec

from schemas.cluster import Attempt, Lot, Placing, Ready
from schemas.entity import State
from schemas.inventory import Offer
from schemas.market import CapacitySeen, Refusal

Place = tuple[str, str]
"""Cloud and region."""
LEARNT = ("NoCapacity", "Quota")
"""The reasons of a failed attempt that say something of the market; others say something of the request."""
DEARER = 3.0
"""An offer refused just now counts as so many times its price dearer. It is never left out: where nothing else
fits, asking again is better than stalling."""
FORGOTTEN = 8
"""Half-lives after which a refusal weighs nothing any more (less than 1 in 250)."""
MOST = 200
"""Refusals kept per region: the newest."""


def refusals(state: State) -> Iterator[tuple[Place, Refusal]]:
    """What the last failed attempt tells of the market, by place; told again until the next one has failed."""
    failed = (*state.tried, *filter(None, (state.attempt,)))[-1:] if isinstance(state, Placing) else ()
    for attempt in failed:
        for lot in _blamed(attempt) if attempt.reason in LEARNT else ():
            place = (attempt.placement.cloud, attempt.placement.region)
            yield place, _refusal(lot, attempt, state)


def _refusal(lot: Lot, attempt: Attempt, state: State) -> Refusal:
    return Refusal(
        reason=attempt.reason,
        instance=lot.instance,
        accelerator=lot.accelerator,
        zone=lot.zone,
        spot=lot.spot,
        at=state.since,
        attempt=f"{state.uid}/{attempt.number}",
    )


def _blamed(attempt: Attempt) -> tuple[Lot, ...]:
    """The lots whose machine the message names; all of them, if it names none."""
    named = tuple(lot for lot in attempt.placement.lots if lot.instance in attempt.message)
    return named or attempt.placement.lots


def learn(seen: CapacitySeen, told: Iterable[Refusal], now: datetime) -> CapacitySeen:
    """With what is new, each attempt's lot once; then without what weighs nothing any more."""
    oldest = now - FORGOTTEN * timedelta(seconds=seen.half_life)
    known = {_mark(refusal) for refusal in seen.refusals}
    new = {_mark(r): r for r in told if r.at > oldest and _mark(r) not in known}
    if not new:
        return seen
    fresh = (r for r in (*seen.refusals, *new.values()) if r.at > oldest)
    ordered = sorted(fresh, key=lambda r: (r.at, _mark(r)))
    return msgspec.structs.replace(seen, refusals=tuple(ordered[-MOST:]))


def absolve(seen: CapacitySeen, ready: Ready) -> CapacitySeen:
    """Without the refusals that a cluster on the very same machines has since proved wrong."""
    lots = ready.attempt.placement.lots
    left = [r for r in seen.refusals if r.at >= ready.since or not any(hits(r, lot, spot=lot.spot) for lot in lots)]
    return msgspec.structs.replace(seen, refusals=tuple(left))


def weight(seen: CapacitySeen, machine: Lot | Offer, *, spot: bool, now: datetime) -> float:
    """How much there is against buying it: 1 for a refusal just now, half of it a half-life later, all added up."""
    against = (r for r in seen.refusals if hits(r, machine, spot=spot))
    ages = (max(0.0, (now - refusal.at).total_seconds()) for refusal in against)
    return math.fsum(math.exp2(-age / seen.half_life) for age in ages)


def dearer(weighs: float) -> float:
    """What the price of an offer is multiplied with before it is compared with others."""
    return 1.0 + DEARER * weighs


def hits(refusal: Refusal, machine: Lot | Offer, *, spot: bool) -> bool:
    """No room is a matter of one zone's machines; a quota is one account's, for a kind of accelerator in a region."""
    if refusal.spot != spot:
        return False
    if refusal.reason == "Quota":
        return refusal.accelerator == machine.accelerator
    return (refusal.zone, refusal.instance) == (machine.zone, machine.instance)


def _mark(refusal: Refusal) -> tuple[str, str, str, bool]:
    return (refusal.attempt, refusal.zone, refusal.instance, refusal.spot)
