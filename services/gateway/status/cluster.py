"""The part of a Colony's status that shows one cluster."""

from datetime import datetime, timedelta

from schemas.addon import AddonState, Applying, Degraded, Withdrawn
from schemas.cluster import ClusterState, Placed, Placing, kubeconfig_of
from schemas.crds import (
    AddonStatus,
    AttemptStatus,
    ClusterStatus,
    OfferStatus,
    PoolStatus,
    SkippedStatus,
    TeardownStatus,
)
from schemas.placement import Attempt
from schemas.registry import declared
from schemas.teardown import Cleaning, Draining, Ending, Gone, TeardownState, Warned
from services.gateway.status.conditions import cluster_conditions
from services.gateway.status.facts import Facts, current_inventory, endpoint, phase, wanted, without_microseconds
from services.gateway.status.message import blocked_message, message
from services.gateway.status.pools import pools, ready_totals
from services.gateway.status.previous import PreviousConditions

SHOWN_ATTEMPTS = 5
"""Failed attempts that are shown: the newest."""


def cluster_status(facts: Facts, shown: PreviousConditions) -> ClusterStatus:
    """What the Colony shows of one cluster; `shown` are the conditions that it shows already."""
    state, need = facts.cluster, wanted(facts)
    founded = state if isinstance(state, Placed) else None
    seen = current_inventory(facts, founded) if founded else None
    nodes, accelerators = ready_totals(facts, founded, seen) if founded and seen else (0, 0)
    kubeconfig = kubeconfig_of(state) or None
    return ClusterStatus(
        name=facts.wish.cluster,
        phase=phase(facts),
        since=without_microseconds(state.since) if state else None,
        offer=_offer(founded) if founded else None,
        next_best_price_per_hour=founded.next_best_per_hour if founded else None,
        nodes_ready=nodes,
        nodes_wanted=need.nodes,
        accelerators_ready=accelerators,
        accelerators_wanted=need.accelerators,
        pools=[PoolStatus(**each._asdict()) for each in pools(facts)],
        kubeconfig_secret=kubeconfig,
        endpoint=endpoint(facts, founded) or None if founded else None,
        kubernetes_version=founded.wish.need.kubernetes_version if founded and kubeconfig else None,
        conditions=shown.conditions(cluster_conditions(facts)),
        addons=[_addon(addon) for addon in facts.addons],
        teardown=_teardown(facts.teardown) if facts.teardown else None,
        expires_at=_expires(facts),
        idle_since=without_microseconds(seen.idle_since) if seen and seen.idle_since else None,
        attempts=state.attempts if state else None,
        interruptions=(state.interruptions or None) if state else None,
        failed_attempts=(_failed(state) or None) if state else None,
        message=message(facts) or None,
    )


def _offer(state: Placed) -> OfferStatus:
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
    """The attempts that failed, the newest last."""
    going = (state.attempt,) if isinstance(state, Placing) and state.attempt is not None else ()
    return [_attempt(attempt) for attempt in (*state.failed_attempts, *going)[-SHOWN_ATTEMPTS:]]


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
    message = state.message if isinstance(state, Applying | Degraded | Withdrawn) else None
    return AddonStatus(name=state.addon, phase=declared(type(state)).phase, message=message or None)


def _teardown(state: TeardownState) -> TeardownStatus:
    end = state if isinstance(state, Ending) else None
    skipped = state.skipped if isinstance(state, Ending | Gone) else ()
    return TeardownStatus(
        phase=declared(type(state)).phase,
        reason=state.reason if isinstance(state, Warned | Ending | Gone) else None,
        since=without_microseconds(end.began) if end else None,
        at=_at(state),
        message=blocked_message(state) or None,
        skipped=[SkippedStatus(step=each.step, reason=each.reason, left=each.left) for each in skipped] or None,
    )


def _at(state: TeardownState) -> datetime | None:
    """When the cluster is deleted, when the current step is given up, or when the cluster was gone."""
    if isinstance(state, Warned):
        return without_microseconds(state.until)
    if isinstance(state, Draining | Cleaning):
        return without_microseconds(state.ends_at)
    return without_microseconds(state.since) if isinstance(state, Gone) else None


def _expires(facts: Facts) -> datetime | None:
    since = facts.teardown.ready_since if facts.teardown else None
    span = facts.wish.limits.time_to_live_seconds
    return without_microseconds(since + timedelta(seconds=span)) if since and span is not None else None
