"""The status of a Colony as a pure function of what is known of its clusters, and of what the status showed before."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from events.kube.port import Object
from schemas.addon import AddonState, Applying, Degraded, Withdrawn, profile_of
from schemas.cluster import ClusterState, Placed, Placing, Ready, kubeconfig_of
from schemas.crds import (
    AddonStatus,
    AttemptStatus,
    ClusterStatus,
    ColonyStatus,
    GpuStatus,
    OfferStatus,
    PoolStatus,
    SkippedStatus,
    TeardownStatus,
)
from schemas.inventory import ClusterSeen
from schemas.placement import Attempt
from schemas.registry import declared
from schemas.teardown import Cleaning, Draining, Ending, Gone, TeardownState, Warned
from services.colony.accounting import so_far
from services.gateway.status.conditions import (
    KUBECONFIG_WRITTEN,
    STALLED,
    cluster_conditions,
    colony_conditions,
    condition_generation,
)
from services.gateway.status.facts import (
    PHASES,
    STUCK,
    ConditionState,
    Facts,
    KubeconfigStatus,
    current_inventory,
    endpoint,
    phase,
    pools,
    ready_totals,
    wanted,
    without_microseconds,
)
from services.gateway.status.message import blocked_message, message
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
        offer=_offer_status(founded) if founded else None,
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
        addons=[_addon(addon) for addon in facts.addons if not profile_of(addon.addon)],
        teardown=_teardown(facts.teardown) if facts.teardown else None,
        expires_at=_expires(facts),
        idle_since=without_microseconds(seen.idle_since) if seen and seen.idle_since else None,
        attempts=state.attempts if state else None,
        interruptions=(state.interruptions or None) if state else None,
        failed_attempts=(_failed(state) or None) if state else None,
        message=message(facts) or None,
    )


def _offer_status(state: Placed) -> OfferStatus:
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


NO_KUBECONFIG = KubeconfigStatus()
MESSAGE_CONDITIONS = ("Accepted", "Ready", "Ending", "Resizing", "Upgrading", KUBECONFIG_WRITTEN)
"""The message of the first of these conditions that has one is the Colony's message."""


def status(
    colony: Object, facts: Iterable[Facts], now: datetime, kubeconfig: KubeconfigStatus = NO_KUBECONFIG
) -> Object:
    """The Colony's status, with its cost until `now`, which is also the time of conditions that change."""
    listed = tuple(sorted(facts, key=lambda each: each.dropped))
    asked = tuple(each for each in listed if not each.dropped)
    previous = _previous_conditions(colony, now)
    clusters = list(_clusters(colony, listed, previous))
    ready = sum(phase(each) == declared(Ready).phase for each in asked)
    bought = [each.cluster for each in listed if isinstance(each.cluster, Placed)]
    conditions = colony_conditions(listed, asked, kubeconfig)
    return _dumped(
        ColonyStatus(
            phase=_phase(asked, deleting=bool(colony["metadata"].get("deletionTimestamp"))),
            observed_generation=previous.generation,
            ready=f"{ready}/{len(asked)}",
            accelerators=_accelerators(clusters[: len(asked)]),
            offer=", ".join(dict.fromkeys(_offer(state) for state in bought)) or None,
            price_per_hour=_price(bought),
            cost_usd=_cents(sum(so_far(each.cluster, now) for each in listed if each.cluster)),
            expires_at=min(filter(None, (each.expires_at for each in clusters[: len(asked)])), default=None),
            message=_message(conditions),
            kubeconfig_secret=kubeconfig.secret,
            running=[each.wish.cluster for each in asked if isinstance(each.cluster, Placed)] or None,
            conditions=previous.conditions(conditions),
            gpu_inventory=gpu_inventory(_inventories(listed)) or None,
            clusters=clusters,
        )
    )


def invalid(colony: Object, message: str, now: datetime) -> Object:
    """The status of a Colony whose spec cannot be read."""
    previous = _previous_conditions(colony, now)
    condition = ConditionState(holds=False, reason="Invalid", message=message)
    stalled = ConditionState(holds=True, reason="Invalid", message=message)
    refused = dict.fromkeys(("Accepted", "Ready"), condition)
    status = ColonyStatus(
        phase="Invalid",
        observed_generation=previous.generation,
        message=message,
        conditions=previous.conditions({**refused, STALLED: stalled}),
    )
    return _dumped(status)


def _previous_conditions(colony: Object, now: datetime) -> PreviousConditions:
    conditions = colony.get("status", {}).get("conditions", ())
    return PreviousConditions.of(conditions, colony["metadata"].get("generation", 0), now)


def _clusters(colony: Object, facts: Iterable[Facts], previous: PreviousConditions) -> Iterator[ClusterStatus]:
    before = {each["name"]: each.get("conditions", ()) for each in colony.get("status", {}).get("clusters", ())}
    for each in facts:
        generation = condition_generation(each, previous.generation)
        shown = PreviousConditions.of(before.get(each.wish.cluster, ()), generation, previous.now)
        yield cluster_status(each, shown)


def _phase(facts: tuple[Facts, ...], *, deleting: bool) -> str:
    """The phase of the least advanced cluster; of a Colony that is being deleted `Stuck` or `Deleting`."""
    phases = [phase(each) for each in facts]
    if deleting:
        return STUCK if STUCK in phases else "Deleting"
    return min(phases, key=lambda one: PHASES.index(one) if one in PHASES else -1) if phases else "Empty"


def _message(conditions: Mapping[str, ConditionState]) -> str | None:
    """One line: first that the Colony ends, then what somebody has to mend."""
    order = ("Ending", *MESSAGE_CONDITIONS) if conditions["Ending"].holds else MESSAGE_CONDITIONS
    messages = (" ".join(conditions[kind].message.split()) for kind in order if kind in conditions)
    return next(filter(None, messages), None)


def _accelerators(clusters: list[ClusterStatus]) -> str:
    ready, wanted = (
        sum(getattr(each, f"accelerators_{name}") or 0 for each in clusters) for name in ("ready", "wanted")
    )
    return f"{ready}/{wanted}"


def _offer(state: Placed) -> str:
    placement = state.attempt.placement
    lot = placement.lots[0]
    return f"{placement.cloud}/{placement.region} {lot.instance}{' spot' if lot.spot else ''}"


def _price(bought: list[Placed]) -> float | None:
    """USD per hour of everything that is bought; None if nothing is."""
    return _cents(sum(state.attempt.placement.price_per_hour for state in bought)) if bought else None


def _cents(amount: float) -> float:
    """A sum rounded to cents; a smaller one to millionths of a dollar, so that it is not shown as nothing."""
    return round(amount, 2) or round(amount, 6)


def _inventories(facts: tuple[Facts, ...]) -> Iterator[ClusterSeen]:
    for each in facts:
        seen = current_inventory(each, each.cluster) if isinstance(each.cluster, Placed) else None
        if seen is not None:
            yield seen


def _dumped(status: ColonyStatus) -> Object:
    return status.model_dump(mode="json", by_alias=True, exclude_none=True)


def gpu_inventory(clusters: Iterable[ClusterSeen]) -> list[GpuStatus]:
    """Accelerators of all clusters by model; shares of one as fractions."""
    found: dict[str, GpuStatus] = {}
    for seen in clusters:
        for model, amount in seen.models.items():
            before = found.get(model) or GpuStatus(model=model, total=0.0, allocated=0.0, nodes=0)
            found[model] = GpuStatus(
                model=model,
                total=before.total + amount.allocatable / 1000,
                allocated=before.allocated + amount.allocated / 1000,
                nodes=before.nodes + amount.nodes,
            )
    return [found[model] for model in sorted(found)]
