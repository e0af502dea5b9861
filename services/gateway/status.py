"""A Colony's status is computed from what its clusters are, by one pure function."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from events.kube_port import Object
from schemas.addon import AddonState, Applied, Degraded
from schemas.cluster import (
    ClusterState,
    Founded,
    InfraSeen,
    Launching,
    Placing,
    Ready,
    Released,
    Releasing,
    Requested,
    Stalled,
)
from schemas.crds import AddonStatus, ClusterStatus, ColonyStatus, Condition, OfferStatus, TeardownStatus
from schemas.entity import EPOCH
from schemas.inventory import ClusterSeen
from schemas.teardown import Gone, Stuck, TeardownState, Warned
from schemas.wish import Wish
from services.gateway.gpus import gpu_inventory


@dataclass(frozen=True)
class Facts:
    """What is known of one cluster of the Colony."""

    wish: Wish
    refused: str = ""
    """Why its wish cannot be followed at all."""
    cluster: ClusterState | None = None
    teardown: TeardownState | None = None
    addons: tuple[AddonState, ...] = ()
    seen: ClusterSeen | None = None
    infra: InfraSeen | None = None


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
    verdict = _ready(listed, ready)
    whole = ColonyStatus(
        phase="Deleting" if deleting else _phase(listed),
        observed_generation=known.generation,
        ready=f"{ready}/{len(listed)}",
        accelerators=f"{_sum(clusters, 'accelerators_ready')}/{_sum(clusters, 'accelerators_wanted')}",
        offer=", ".join(dict.fromkeys(_short(state) for state in offers)) or None,
        price_per_hour=round(sum(s.attempt.placement.price_per_hour for s in offers), 6) if offers else None,
        cost_usd=round(sum(each.cluster.cost_usd for each in listed if each.cluster), 6),
        message=verdict.message or None,
        conditions=[
            known.condition("Accepted", _accepted(listed)),
            known.condition("Ready", verdict),
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


ORDER = ("Stalled", "Pending", "Requested", "Placing", "Launching", "Provisioned", "Ready", "Releasing", "Released")
"""From what needs people most to what needs them least."""


def _cluster_phase(facts: Facts) -> str:
    if facts.refused:
        return "Stalled"
    return type(facts.cluster).__name__ if facts.cluster else "Pending"


def _accepted(facts: tuple[Facts, ...]) -> Verdict:
    complaint = next((each.refused for each in facts if each.refused), "")
    complaint = complaint or next((c.refused for e in facts if isinstance(c := e.cluster, Founded) and c.refused), "")
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
    reason = least.cluster.reason if isinstance(least.cluster, Stalled) else _cluster_phase(least)
    return Verdict(holds=False, reason=reason, message=f"{least.wish.cluster}: {_message(least)}")


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
    state, need = facts.cluster, facts.wish.need
    founded = state if isinstance(state, Founded) else None
    seen = _seen(facts, founded) if founded else None
    return ClusterStatus(
        name=facts.wish.cluster,
        phase=_cluster_phase(facts),
        since=_whole(state.since) if state else None,
        offer=_offer(founded) if founded else None,
        next_best_price_per_hour=founded.next_best_per_hour if founded else None,
        nodes_ready=seen.nodes if seen else 0,
        nodes_wanted=need.nodes,
        accelerators_ready=seen.accelerators if seen else 0,
        accelerators_wanted=need.accelerators,
        kubeconfig_secret=getattr(state, "kubeconfig", None),
        addons=[_addon(addon) for addon in facts.addons],
        teardown=_teardown(facts.teardown) if facts.teardown else None,
        expires_at=_expires(facts),
        idle_since=_whole(seen.idle_since) if seen and seen.idle_since else None,
        attempts=state.attempts if state else None,
        message=_message(facts) or None,
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


def _addon(state: AddonState) -> AddonStatus:
    message = state.message if isinstance(state, Degraded) else None
    return AddonStatus(name=state.addon, phase=type(state).__name__, message=message)


def _teardown(state: TeardownState) -> TeardownStatus:
    until = state.until if isinstance(state, Warned) else None
    at = _whole(until) if until else _whole(state.since) if isinstance(state, Gone) else None
    return TeardownStatus(phase=type(state).__name__, reason=getattr(state, "why", None), at=at)


def _expires(facts: Facts) -> datetime | None:
    since = facts.teardown.ready_since if facts.teardown else None
    span = facts.wish.limits.time_to_live
    return _whole(since + timedelta(seconds=span)) if since and span is not None else None


def _whole(moment: datetime) -> datetime:
    return moment.replace(microsecond=0)


def _message(facts: Facts) -> str:
    """The one thing a person should know of the cluster now."""
    state, teardown = facts.cluster, facts.teardown
    if facts.refused or isinstance(teardown, Stuck):
        return facts.refused or getattr(teardown, "message", "")
    if isinstance(teardown, Warned):
        return f"goes at {_whole(teardown.until):%H:%M:%S}Z: {teardown.why}"
    if isinstance(state, Founded) and (state.refused or not isinstance(state, Ready)):
        return state.refused or _progress(facts, state)
    return TELLS.get(type(state), lambda _: "")(state)


TELLS: dict[type, Callable[[Any], str]] = {
    type(None): lambda _: "waiting for provisioning",
    Requested: lambda _: "waiting for the market",
    Placing: lambda s: f"the next offer is looked for: {s.attempt.message or s.attempt.reason}" if s.attempt else "",
    Stalled: lambda s: s.message,
    Releasing: lambda s: f"its machines are being given back: {s.because}",
    Released: lambda s: f"released: {s.because}",
}
"""What the states without a story of their own say."""


def _progress(facts: Facts, state: Founded) -> str:
    seen = _seen(facts, state)
    if seen is not None:
        need = facts.wish.need
        return f"{seen.nodes} of {need.nodes} nodes, {seen.accelerators} of {need.accelerators} accelerators ready"
    if isinstance(state, Launching) and state.held:
        return state.held
    infra = facts.infra
    told = infra.message if infra is not None and infra.uid == state.uid else ""
    return told or "waiting for the back end"


def _seen(facts: Facts, state: Founded) -> ClusterSeen | None:
    """What was counted on the cluster of this very attempt."""
    seen = facts.seen
    known = seen is not None and seen.uid == state.uid and seen.attempt in (0, state.attempt.number)
    return seen if known else None


def _seen_of(facts: tuple[Facts, ...]) -> Iterator[ClusterSeen]:
    for each in facts:
        seen = _seen(each, each.cluster) if isinstance(each.cluster, Founded) else None
        if seen is not None:
            yield seen


def same(computed: Object, shown: Object) -> bool:
    """Whether the object shows already what was computed."""
    return computed == shown  # as values, for an API server writes 2.0 as 2
