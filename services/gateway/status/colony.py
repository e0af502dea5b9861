"""A Colony's status is computed from what its clusters are, by one pure function."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime

from events.kube.port import Object
from schemas.cluster import Founded, Ready
from schemas.crds import ClusterStatus, ColonyStatus
from schemas.inventory import ClusterSeen
from services.colony.cost import so_far
from services.gateway.kubeconfig.merge import Told
from services.gateway.status.accelerators import gpu_inventory
from services.gateway.status.cluster import cluster_status
from services.gateway.status.conditions import AS_ASKED, addons_applied, ends, generation, missing, resizing, upgrading
from services.gateway.status.facts import ADDONS_DEGRADED, UNKNOWN, WITHOUT_ADDONS, Facts, asked_since, counted, phase
from services.gateway.status.message import waits_for_addons
from services.gateway.status.transition_times import Shown, Verdict

NOTHING = Told()
KUBECONFIG = "KubeconfigWritten"


def refused(colony: Object, message: str, now: datetime) -> Object:
    """The status of a Colony that cannot be taken as it is written."""
    shown = _shown(colony, now)
    verdict = Verdict(holds=False, reason="Invalid", message=message)
    status = ColonyStatus(
        phase="Invalid",
        observed_generation=shown.generation,
        message=message,
        conditions=shown.conditions(dict.fromkeys(("Accepted", "Ready"), verdict)),
    )
    return _dumped(status)


def status(colony: Object, facts: Iterable[Facts], now: datetime, told: Told = NOTHING) -> Object:
    """What the Colony shows, and has cost by `now`, which stamps conditions that change; `told` of its kubeconfig."""
    listed = tuple(sorted(facts, key=lambda each: each.dropped))
    asked = tuple(each for each in listed if not each.dropped)
    shown = _shown(colony, now)
    clusters = list(_clusters(colony, listed, shown))
    ready = sum(phase(each) == Ready.__name__ for each in asked)
    offers = [each.cluster for each in listed if isinstance(each.cluster, Founded)]
    verdicts = _verdicts(listed, asked, told)
    whole = ColonyStatus(
        phase=_phase(asked, deleting=bool(colony["metadata"].get("deletionTimestamp"))),
        observed_generation=shown.generation,
        ready=f"{ready}/{len(asked)}",
        accelerators=_accelerators(clusters[: len(asked)]),
        offer=", ".join(dict.fromkeys(_short(state) for state in offers)) or None,
        price_per_hour=_price(offers),
        cost_usd=_cents(sum(so_far(each.cluster, now) for each in listed if each.cluster)),
        expires_at=min(filter(None, (each.expires_at for each in clusters[: len(asked)])), default=None),
        message=_message(verdicts),
        kubeconfig_secret=told.secret,
        running=_running(asked),
        conditions=shown.conditions(verdicts),
        gpu_inventory=gpu_inventory(_seen_of(listed)) or None,
        clusters=clusters,
    )
    return _dumped(whole)


def _verdicts(listed: tuple[Facts, ...], asked: tuple[Facts, ...], told: Told) -> Mapping[str, Verdict]:
    """The Colony's aspects; what it asks for no more counts for none but the last."""
    return {
        "Accepted": _accepted(asked),
        "Ready": _ready(asked),
        "Resizing": _changing(asked, resizing),
        "Upgrading": _changing(asked, upgrading),
        "AddonsApplied": _addons_applied(asked),
        "Ending": _changing(listed, ends),
    } | ({KUBECONFIG: told.verdict} if told.verdict else {})


def _price(offers: list[Founded]) -> float | None:
    """USD per hour of all that is bought; None where nothing is."""
    return _cents(sum(state.attempt.placement.price_per_hour for state in offers)) if offers else None


def _cents(amount: float) -> float:
    """As tables print it, a sum in cents; what is less than one is no nothing."""
    return round(amount, 2) or round(amount, 6)


def _running(asked: Iterable[Facts]) -> list[str] | None:
    """The clusters of the spec that are founded; None where there is none."""
    return [each.wish.cluster for each in asked if isinstance(each.cluster, Founded)] or None


def _shown(colony: Object, now: datetime) -> Shown:
    conditions = colony.get("status", {}).get("conditions", ())
    return Shown.of(conditions, colony["metadata"].get("generation", 0), now)


def _clusters(colony: Object, facts: Iterable[Facts], shown: Shown) -> Iterator[ClusterStatus]:
    before = {each["name"]: each.get("conditions", ()) for each in colony.get("status", {}).get("clusters", ())}
    for each in facts:
        of = generation(each, shown.generation)
        yield cluster_status(each, Shown.of(before.get(each.wish.cluster, ()), of, shown.now))


def _dumped(whole: ColonyStatus) -> Object:
    return whole.model_dump(mode="json", by_alias=True, exclude_none=True)


def _accelerators(clusters: list[ClusterStatus]) -> str:
    there, wanted = (
        sum(getattr(each, f"accelerators_{name}") or 0 for each in clusters) for name in ("ready", "wanted")
    )
    return f"{there}/{wanted}"


def _short(state: Founded) -> str:
    placement = state.attempt.placement
    lot = placement.lots[0]
    return f"{placement.cloud}/{placement.region} {lot.instance}{' spot' if lot.spot else ''}"


def _phase(facts: tuple[Facts, ...], *, deleting: bool) -> str:
    """What all clusters are, or what the least advanced of them is; of one that goes, that, or that it cannot."""
    phases = [phase(each) for each in facts]
    if deleting:
        return STUCK if STUCK in phases else "Deleting"
    return min(phases, key=lambda one: ORDER.index(one) if one in ORDER else -1) if phases else "Empty"


def _message(verdicts: Mapping[str, Verdict]) -> str | None:
    """What people should know first, in one line: that it ends, or else what somebody wrote and has to mend."""
    order = ("Ending", *TOLD) if verdicts["Ending"].holds else TOLD
    told = (" ".join(verdicts[kind].message.split()) for kind in order if kind in verdicts)
    return next(filter(None, told), None)


STUCK = "Stuck"
TOLD = ("Accepted", "Ready", "Ending", "Resizing", "Upgrading", KUBECONFIG)
"""Whose message is the Colony's."""
ORDER = (
    STUCK,
    "Stalled",
    ADDONS_DEGRADED,
    "Waiting",
    "Pending",
    "Requested",
    "Placing",
    "Launching",
    "Provisioned",
    WITHOUT_ADDONS,
    "Hibernated",
    "Deleting",
    "Draining",
    "Cleaning",
    "Releasing",
    "Verifying",
    UNKNOWN,
    "Ready",
    "Released",
)
"""From what needs people most to what needs them least."""


def _accepted(facts: tuple[Facts, ...]) -> Verdict:
    complaint = "; ".join(_complaints(facts))
    return Verdict(not complaint, "Refused" if complaint else "Accepted", complaint)


def _complaints(facts: tuple[Facts, ...]) -> Iterator[str]:
    for each in facts:
        state = each.cluster
        why = state.refused if isinstance(state, Founded) and not asked_since(each) else each.refused
        if why:
            yield f"{each.wish.cluster}: {why}"


def _ready(facts: tuple[Facts, ...]) -> Verdict:
    if not facts:
        return Verdict(holds=False, reason="Empty", message="the Colony asks for no cluster")
    short = [each for each in facts if phase(each) != Ready.__name__]
    if not short:
        return Verdict(holds=True, reason="AllClustersReady")
    least = min(short, key=lambda each: ORDER.index(phase(each)))
    why = missing(least)
    return Verdict(holds=why.holds, reason=why.reason, message=f"{least.wish.cluster}: {why.message}")


def _changing(facts: tuple[Facts, ...], aspect: Callable[[Facts], Verdict]) -> Verdict:
    """Whether a cluster is getting another size, or version; it stays ready meanwhile."""
    verdicts = [(each.wish.cluster, verdict) for each in facts if (verdict := aspect(each)) != AS_ASKED]
    going = [(name, verdict) for name, verdict in verdicts if verdict.holds]
    if not verdicts:
        return AS_ASKED
    reason = next(
        (verdict.reason for _, verdict in going if verdict.reason == "Late"), (going or verdicts)[0][1].reason
    )
    told = "; ".join(f"{name}: {verdict.message}" for name, verdict in verdicts)
    return Verdict(holds=bool(going), reason=reason, message=told)


def _addons_applied(facts: tuple[Facts, ...]) -> Verdict:
    told = ((each.wish.cluster, waits_for_addons(each)) for each in facts)
    return addons_applied("; ".join(f"{name}: {waits}" for name, waits in told if waits))


def _seen_of(facts: tuple[Facts, ...]) -> Iterator[ClusterSeen]:
    for each in facts:
        seen = counted(each, each.cluster) if isinstance(each.cluster, Founded) else None
        if seen is not None:
            yield seen


def same(computed: Object, shown: Object) -> bool:
    """Whether the object shows already what was computed."""
    return computed == shown  # as values, for an API server writes 2.0 as 2


def newer(one: Object, other: Object) -> bool:
    """Of two shapes of one object: its resourceVersion is a number that grows, by contract since Kubernetes 1.35."""
    return int(one["metadata"]["resourceVersion"]) > int(other["metadata"]["resourceVersion"])
