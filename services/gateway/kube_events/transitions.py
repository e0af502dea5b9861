"""Which Kubernetes Events a change of state means: computed from the state before and the state now."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from schemas.addon import Applied, Degraded
from schemas.cluster import Hibernated, Launching, Placed, Placing, Provisioned, Ready, Stalled, Waiting
from schemas.entity import State
from schemas.inventory import ClusterSeen
from schemas.placement import Attempt
from schemas.teardown import Draining, Ending, Gone, Stuck, Warned
from services.gateway.status.facts import written_time
from services.gateway.status.message import END_REASONS, blocked_message, skipped_steps
from services.market.capacity import INTERRUPTED


@dataclass(frozen=True)
class Occurrence:
    """One Kubernetes Event that people want to know of, without its object and time."""

    reason: str
    """CamelCase, for programs."""
    message: str
    """One sentence, for people."""
    warning: bool = False
    """Somebody may have to do something."""


def occurrences(before: State | None, state: State) -> Iterator[Occurrence]:
    """What has happened between two states of one entity; the first may be unknown."""
    same = before if before is not None and before.uid == state.uid else None
    enters = ENTERED.get(type(state))
    if enters is not None and type(same) is not type(state):
        yield from enters(state)
    if isinstance(same, Ready) and isinstance(state, Provisioned) and same.interruptions == state.interruptions:
        yield Occurrence("NotReady", "some of its accelerators can no longer be used", warning=True)
    known = set(_lasting(same)) if same is not None else set()
    yield from (each for each in _lasting(state) if each not in known)


def reachability(before: ClusterSeen | None, seen: ClusterSeen) -> Iterator[Occurrence]:
    """Whether the API of a cluster has become unreachable, or reachable again."""
    known = before.known if before is not None and before.uid == seen.uid else True
    if known and not seen.known:
        yield Occurrence("Unreachable", seen.refusal or "its API is unreachable", warning=True)
    if seen.known and not known:
        yield Occurrence("ReachableAgain", "its API is reachable again")


def _lasting(state: State) -> Iterator[Occurrence]:
    """What a state reports for as long as it lasts."""
    if isinstance(state, Placed):
        if state.refused:
            yield Occurrence("Refused", state.refused, warning=True)
        if state.interruptions:
            message = f"spot machines were taken back {state.interruptions} times so far"
            yield Occurrence(INTERRUPTED, message, warning=True)
        if state.resizing is not None and state.resizing.late:
            yield Occurrence("Late", f"resizing to {state.wish.need.nodes} nodes takes long", warning=True)
        if state.upgrading is not None and state.upgrading.late:
            yield Occurrence("Late", f"the upgrade to {state.upgrading.version} takes long", warning=True)
    if isinstance(state, Ready) and state.unmet_demand is not None:
        yield Occurrence(state.unmet_demand.reason, state.unmet_demand.message, warning=True)
    if isinstance(state, Ending):
        yield from (Occurrence("Skipped", step, warning=True) for step in skipped_steps(state))


def _launching(state: Launching) -> Iterator[Occurrence]:
    price = state.attempt.placement.price_per_hour
    yield Occurrence("Launching", f"{_place(state.attempt)} for ${price:.2f} an hour")


def _failed(state: Placing) -> Iterator[Occurrence]:
    attempt = state.attempt
    if attempt is not None:
        why = attempt.message or attempt.reason
        yield Occurrence(attempt.reason or "Failed", f"{_place(attempt)} failed: {why}", warning=True)


def _place(attempt: Attempt) -> str:
    placement = attempt.placement
    lots = ", ".join(f"{lot.nodes} x {lot.instance}{' spot' if lot.spot else ''}" for lot in placement.lots)
    return f"{lots} on {placement.cloud} {placement.region}"


def _warned(state: Warned) -> Iterator[Occurrence]:
    yield Occurrence("Warned", f"it is deleted at {written_time(state.until)}: {state.reason}", warning=True)


def _draining(state: Draining) -> Iterator[Occurrence]:
    yield Occurrence("Draining", f"{END_REASONS.get(state.reason, state.reason)}: its workloads are being stopped")


def _gone(state: Gone) -> Iterator[Occurrence]:
    left = skipped_steps(state)
    text = "; ".join(left) if left else "nothing is left"
    yield Occurrence("Gone", f"{END_REASONS.get(state.reason, state.reason)}: {text}", warning=bool(left))


ENTERED: Mapping[type[State], Callable[[Any], Iterator[Occurrence]]] = {
    Launching: _launching,
    Placing: _failed,
    Waiting: lambda s: iter((Occurrence(s.reason, s.message, warning=True),)),
    Stalled: lambda s: iter((Occurrence(s.reason, s.message, warning=True),)),
    Ready: lambda s: iter((Occurrence("Ready", f"all {s.wish.need.accelerators} accelerators can be used"),)),
    Hibernated: lambda _: iter((Occurrence("Hibernated", "its machines are released until it wakes"),)),
    Applied: lambda s: iter((Occurrence("AddonApplied", f"add-on {s.addon} is applied and healthy"),)),
    Degraded: lambda s: iter((Occurrence("AddonDegraded", f"add-on {s.addon}: {s.message}", warning=True),)),
    Warned: _warned,
    Draining: _draining,
    Stuck: lambda s: iter((Occurrence("Stuck", blocked_message(s), warning=True),)),
    Gone: _gone,
}
"""What is reported when a state begins; a state that is not here is a step between two of these."""
