"""What of a cluster's life is told as Kubernetes Events is computed from two states of it: the one before, and now."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from schemas.addon import Applied, Degraded
from schemas.cluster import Founded, Hibernated, Launching, Placing, Provisioned, Ready, Stalled, Waiting
from schemas.entity import State
from schemas.inventory import ClusterSeen
from schemas.placement import Attempt
from schemas.teardown import Draining, Ending, Gone, Stuck, Warned
from services.gateway.status.teardown_message import WHY, given_up, held_up
from services.market.capacity import INTERRUPTED


@dataclass(frozen=True)
class Occurrence:
    """One thing that people want to know of."""

    reason: str
    """CamelCase, for programs."""
    message: str
    """One sentence, for people."""
    warning: bool = False
    """Somebody may have to do something."""


def occurrences(before: State | None, state: State) -> Iterator[Occurrence]:
    """What has happened between two states of one entity, of which the first may not be known."""
    same = before if before is not None and before.uid == state.uid else None
    enters = ENTERED.get(type(state))
    if enters is not None and type(same) is not type(state):
        yield from enters(state)
    if isinstance(same, Ready) and isinstance(state, Provisioned) and same.interruptions == state.interruptions:
        yield Occurrence("NotReady", "not all of its accelerators can be used any more", warning=True)
    known = set(_standing(same)) if same is not None else set()
    yield from (each for each in _standing(state) if each not in known)


def heard(before: ClusterSeen | None, seen: ClusterSeen) -> Iterator[Occurrence]:
    """Whether a cluster's API has fallen silent, or is heard again."""
    known = before.known if before is not None and before.uid == seen.uid else True
    if known and not seen.known:
        yield Occurrence("NotHeard", seen.refusal or "its API cannot be heard", warning=True)
    if seen.known and not known:
        yield Occurrence("Heard", "its API is heard again")


def _standing(state: State) -> Iterator[Occurrence]:
    """What a state tells beside its kind, as long as it does."""
    if isinstance(state, Founded):
        if state.refused:
            yield Occurrence("Refused", state.refused, warning=True)
        if state.interruptions:
            message = f"spot machines were taken back, so often by now: {state.interruptions}"
            yield Occurrence(INTERRUPTED, message, warning=True)
        if state.resizing is not None and state.resizing.late:
            yield Occurrence("Late", f"its new size of {state.wish.need.nodes} nodes takes long", warning=True)
        if state.upgrading is not None and state.upgrading.late:
            yield Occurrence("Late", f"its way to {state.upgrading.version} takes long", warning=True)
    if isinstance(state, Ready) and state.ungrown is not None:
        yield Occurrence(state.ungrown.reason, state.ungrown.message, warning=True)
    if isinstance(state, Ending):
        yield from (Occurrence("Skipped", told, warning=True) for told in given_up(state))


def _launching(state: Launching) -> Iterator[Occurrence]:
    price = state.attempt.placement.price_per_hour
    yield Occurrence("Launching", f"{_place(state.attempt)} for ${price:.2f} an hour")


def _failed(state: Placing) -> Iterator[Occurrence]:
    attempt = state.attempt
    if attempt is not None:
        why = attempt.message or attempt.reason
        yield Occurrence(attempt.reason or "Failed", f"{_place(attempt)} came to nothing: {why}", warning=True)


def _place(attempt: Attempt) -> str:
    placement = attempt.placement
    lots = ", ".join(f"{lot.nodes} x {lot.instance}{' spot' if lot.spot else ''}" for lot in placement.lots)
    return f"{lots} on {placement.cloud} {placement.region}"


def _gone(state: Gone) -> Iterator[Occurrence]:
    left = given_up(state)
    told = "; ".join(left) if left else "nothing is left"
    yield Occurrence("Gone", f"{WHY.get(state.why, state.why)}: {told}", warning=bool(left))


ENTERED: Mapping[type[State], Callable[[Any], Iterator[Occurrence]]] = {
    Launching: _launching,
    Placing: _failed,
    Waiting: lambda s: iter((Occurrence(s.reason, s.message, warning=True),)),
    Stalled: lambda s: iter((Occurrence(s.reason, s.message, warning=True),)),
    Ready: lambda s: iter((Occurrence("Ready", f"all {s.wish.need.accelerators} accelerators can be used"),)),
    Hibernated: lambda _: iter((Occurrence("Hibernated", "its machines are given back until it is woken"),)),
    Applied: lambda s: iter((Occurrence("AddonApplied", f"add-on {s.addon} is there and healthy"),)),
    Degraded: lambda s: iter((Occurrence("AddonDegraded", f"add-on {s.addon}: {s.message}", warning=True),)),
    Warned: lambda s: iter((Occurrence("Warned", f"it goes at {s.until:%Y-%m-%d %H:%M:%S}Z: {s.why}", warning=True),)),
    Draining: lambda s: iter((Occurrence("Draining", f"{WHY.get(s.why, s.why)}: its work is being stopped"),)),
    Stuck: lambda s: iter((Occurrence("Stuck", held_up(s), warning=True),)),
    Gone: _gone,
}
"""What the beginning of a state tells; a state that is not here is a step between two of these."""
