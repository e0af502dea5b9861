"""A Colony's status is computed from what its clusters are, by one pure function."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from events.kube_port import Object
from schemas.addon import AddonState, Applied, Degraded
from schemas.cluster import (
    Attempt,
    ClusterState,
    Founded,
    Placing,
    Ready,
    Stalled,
    Waiting,
)
from schemas.crds import AddonStatus, AttemptStatus, ClusterStatus, ColonyStatus, Condition, OfferStatus, TeardownStatus
from schemas.entity import EPOCH
from schemas.inventory import ClusterSeen
from schemas.teardown import Gone, TeardownState, Warned
from services.gateway.facts import Facts, asked_since, counted, endpoint, wanted, whole
from services.gateway.gpus import gpu_inventory
from services.gateway.tells import message

SHOWN = 5
"""Failed attempts that are shown: the newest."""


@dataclass(frozen=True)
class Verdict:
    """Whether one aspect of a Colony holds, and why."""

    holds: bool
    reason: str
    message: str = ""


@dataclass
class Known:
    """The conditions as the object shows them: what has not changed keeps its time."""

    generation: int
    shown: dict[str, Object] = field(default_factory=dict)
    since: datetime = EPOCH

    def condition(self, kind: str, verdict: Verdict) -> Condition:
        """The condition for a verdict."""
        status: Literal["True", "False"] = "True" if verdict.holds else "False"
        before = self.shown.get(kind, {})
        kept = before.get("lastTransitionTime") if before.get("status") == status else None
        return Condition(
            type=kind,
            status=status,
            observed_generation=self.generation,
            last_transition_time=datetime.fromisoformat(kept) if kept else self.since,
            reason=verdict.reason,
            message=verdict.message,
        )


def refused(colony: Object, message: str, now: datetime) -> Object:
    """The status of a Colony that cannot be taken as it is written."""
    known = _known(colony, now)
    verdict = Verdict(holds=False, reason="Invalid", message=message)
    status = ColonyStatus(
        phase="Invalid",
        observed_generation=known.generation,
        message=message,
        conditions=[known.condition(kind, verdict) for kind in ("Accepted", "Ready")],
    )
    return _dumped(status)


def status(colony: Object, facts: Iterable[Facts], now: datetime) -> Object:
    """What the Colony shows now. `now` stamps conditions that change, nothing else."""
    listed = tuple(facts)
    known = _known(colony, now)
    clusters = [_cluster(each) for each in listed]
    ready = sum(isinstance(each.cluster, Ready) for each in listed)
    offers = [each.cluster for each in listed if isinstance(each.cluster, Founded)]
    deleting = bool(colony["metadata"].get("deletionTimestamp"))
    verdict, resizing = _ready(listed, ready), _resizing(listed)
    whole = ColonyStatus(
        phase="Deleting" if deleting else _phase(listed),
        observed_generation=known.generation,
        ready=f"{ready}/{len(listed)}",
        accelerators=f"{_sum(clusters, 'accelerators_ready')}/{_sum(clusters, 'accelerators_wanted')}",
        offer=", ".join(dict.fromkeys(_short(state) for state in offers)) or None,
        price_per_hour=round(sum(s.attempt.placement.price_per_hour for s in offers), 6) if offers else None,
        cost_usd=round(sum(each.cluster.cost_usd for each in listed if each.cluster), 6),
        message=verdict.message or resizing.message or None,
        conditions=[
            known.condition("Accepted", _accepted(listed)),
            known.condition("Ready", verdict),
            known.condition("Resizing", resizing),
            known.condition("AddonsApplied", _addons_applied(listed)),
        ],
        gpu_inventory=gpu_inventory(_seen_of(listed)) or None,
        clusters=clusters,
    )
    return _dumped(whole)


def _known(colony: Object, now: datetime) -> Known:
    shown = {c["type"]: c for c in colony.get("status", {}).get("conditions", ())}
    return Known(colony["metadata"].get("generation", 0), shown, now)


def _dumped(whole: ColonyStatus) -> Object:
    return whole.model_dump(mode="json", by_alias=True, exclude_none=True)


def _sum(clusters: list[ClusterStatus], name: str) -> int:
    return sum(getattr(cluster, name) or 0 for cluster in clusters)


def _short(state: Founded) -> str:
    placement = state.attempt.placement
    lot = placement.lots[0]
    return f"{placement.cloud}/{placement.region} {lot.instance}{' spot' if lot.spot else ''}"


def _phase(facts: tuple[Facts, ...]) -> str:
    """What all clusters are, or what the least advanced of them is."""
    phases = [_cluster_phase(each) for each in facts]
    return min(phases, key=lambda phase: ORDER.index(phase) if phase in ORDER else -1) if phases else "Empty"


ORDER = (
    "Stalled",
    "Waiting",
    "Pending",
    "Requested",
    "Placing",
    "Launching",
    "Provisioned",
    "Hibernated",
    "Ready",
    "Releasing",
    "Released",
)
"""From what needs people most to what needs them least."""


def _cluster_phase(facts: Facts) -> str:
    if facts.refused:
        return "Stalled"
    return type(facts.cluster).__name__ if facts.cluster else "Pending"


def _accepted(facts: tuple[Facts, ...]) -> Verdict:
    complaint = next((each.refused for each in facts if each.refused), "")
    answers = (e.cluster for e in facts if isinstance(e.cluster, Founded) and not asked_since(e))
    complaint = complaint or next((state.refused for state in answers if state.refused), "")
    return Verdict(not complaint, "Refused" if complaint else "Accepted", complaint)


def _ready(facts: tuple[Facts, ...], ready: int) -> Verdict:
    if not facts:
        return Verdict(holds=False, reason="Empty", message="the Colony asks for no cluster")
    if ready == len(facts):
        return Verdict(holds=True, reason="AllClustersReady")
    least = min(
        (each for each in facts if not isinstance(each.cluster, Ready)),
        key=lambda each: ORDER.index(_cluster_phase(each)),
    )
    reason = least.cluster.reason if isinstance(least.cluster, Stalled | Waiting) else _cluster_phase(least)
    return Verdict(holds=False, reason=reason, message=f"{least.wish.cluster}: {message(least)}")


def _resizing(facts: tuple[Facts, ...]) -> Verdict:
    """Whether a cluster's pools are getting another size; it stays ready meanwhile."""
    going = [e for e in facts if isinstance(c := e.cluster, Founded) and (c.resizing or asked_since(e))]
    if not going:
        return Verdict(holds=False, reason="AsAsked")
    late = any(isinstance(c := e.cluster, Founded) and c.resizing and c.resizing.late for e in going)
    told = "; ".join(f"{each.wish.cluster}: {message(each)}" for each in going)
    return Verdict(holds=True, reason="Late" if late else "Resizing", message=told)


def _addons_applied(facts: tuple[Facts, ...]) -> Verdict:
    waiting = [
        f"{each.wish.cluster}/{name.name}"
        for each in facts
        for name in each.wish.addons
        if not any(isinstance(a, Applied) and (a.addon, a.digest) == (name.name, name.digest) for a in each.addons)
    ]
    if waiting:
        return Verdict(holds=False, reason="Waiting", message=f"waiting for {', '.join(waiting)}")
    return Verdict(holds=True, reason="AllApplied")


def _cluster(facts: Facts) -> ClusterStatus:
    state, need = facts.cluster, wanted(facts)
    founded = state if isinstance(state, Founded) else None
    seen = counted(facts, founded) if founded else None
    return ClusterStatus(
        name=facts.wish.cluster,
        phase=_cluster_phase(facts),
        since=whole(state.since) if state else None,
        offer=_offer(founded) if founded else None,
        next_best_price_per_hour=founded.next_best_per_hour if founded else None,
        nodes_ready=seen.nodes if seen else 0,
        nodes_wanted=need.nodes,
        accelerators_ready=seen.accelerators if seen else 0,
        accelerators_wanted=need.accelerators,
        kubeconfig_secret=getattr(state, "kubeconfig", None),
        endpoint=endpoint(facts, founded) or None if founded else None,
        addons=[_addon(addon) for addon in facts.addons],
        teardown=_teardown(facts.teardown) if facts.teardown else None,
        expires_at=_expires(facts),
        idle_since=whole(seen.idle_since) if seen and seen.idle_since else None,
        attempts=state.attempts if state else None,
        failed_attempts=(_failed(state) or None) if state else None,
        message=message(facts) or None,
    )


def _offer(state: Founded) -> OfferStatus:
    placement = state.attempt.placement
    lot = placement.lots[0]
    return OfferStatus(
        cloud=placement.cloud,
        region=placement.region,
        zone=lot.zone or None,
        instance=lot.instance,
        price_per_hour=placement.price_per_hour,
        spot=lot.spot,
    )


def _failed(state: ClusterState) -> list[AttemptStatus]:
    """The attempts that came to nothing, the newest last."""
    going = (state.attempt,) if isinstance(state, Placing) and state.attempt is not None else ()
    return [_attempt(attempt) for attempt in (*state.tried, *going)[-SHOWN:]]


def _attempt(attempt: Attempt) -> AttemptStatus:
    lot = attempt.placement.lots[0]
    return AttemptStatus(
        number=attempt.number,
        cloud=attempt.placement.cloud,
        region=attempt.placement.region,
        instance=lot.instance,
        spot=lot.spot,
        reason=attempt.reason,
        message=attempt.message or None,
    )


def _addon(state: AddonState) -> AddonStatus:
    message = state.message if isinstance(state, Degraded) else None
    return AddonStatus(name=state.addon, phase=type(state).__name__, message=message)


def _teardown(state: TeardownState) -> TeardownStatus:
    until = state.until if isinstance(state, Warned) else None
    at = whole(until) if until else whole(state.since) if isinstance(state, Gone) else None
    return TeardownStatus(phase=type(state).__name__, reason=getattr(state, "why", None), at=at)


def _expires(facts: Facts) -> datetime | None:
    since = facts.teardown.ready_since if facts.teardown else None
    span = facts.wish.limits.time_to_live
    return whole(since + timedelta(seconds=span)) if since and span is not None else None


def _seen_of(facts: tuple[Facts, ...]) -> Iterator[ClusterSeen]:
    for each in facts:
        seen = counted(each, each.cluster) if isinstance(each.cluster, Founded) else None
        if seen is not None:
            yield seen


def same(computed: Object, shown: Object) -> bool:
    """Whether the object shows already what was computed."""
    return computed == shown  # as values, for an API server writes 2.0 as 2
