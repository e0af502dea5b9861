"""A Colony's status is computed from what its clusters are, by one pure function."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from events.kube_port import Object
from schemas.cluster import Founded, Ready
from schemas.crds import ClusterStatus, ColonyStatus
from schemas.inventory import ClusterSeen
from services.gateway.aspects import AS_ASKED, addons_applied, generation, missing, resizing, unapplied, upgrading
from services.gateway.clusters import cluster_status
from services.gateway.conditions import Shown, Verdict
from services.gateway.facts import Facts, asked_since, counted, phase
from services.gateway.gpus import gpu_inventory
from services.gateway.opening import Told

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
    """What the Colony shows now. `now` stamps conditions that change, nothing else; `told` of its kubeconfig."""
    listed = tuple(facts)
    shown = _shown(colony, now)
    clusters = list(_clusters(colony, listed, shown))
    ready = sum(isinstance(each.cluster, Ready) for each in listed)
    offers = [each.cluster for each in listed if isinstance(each.cluster, Founded)]
    deleting = bool(colony["metadata"].get("deletionTimestamp"))
    verdicts = {
        "Accepted": _accepted(listed),
        "Ready": _ready(listed, ready),
        "Resizing": _changing(listed, resizing),
        "Upgrading": _changing(listed, upgrading),
        "AddonsApplied": _addons_applied(listed),
    } | ({KUBECONFIG: told.verdict} if told.verdict else {})
    whole = ColonyStatus(
        phase="Deleting" if deleting else _phase(listed),
        observed_generation=shown.generation,
        ready=f"{ready}/{len(listed)}",
        accelerators=f"{_sum(clusters, 'accelerators_ready')}/{_sum(clusters, 'accelerators_wanted')}",
        offer=", ".join(dict.fromkeys(_short(state) for state in offers)) or None,
        price_per_hour=round(sum(s.attempt.placement.price_per_hour for s in offers), 6) if offers else None,
        cost_usd=round(sum(each.cluster.cost_usd for each in listed if each.cluster), 6),
        message=next(
            filter(None, (" ".join(verdicts[kind].message.split()) for kind in TOLD if kind in verdicts)), None
        ),
        kubeconfig_secret=told.secret,
        conditions=shown.conditions(verdicts),
        gpu_inventory=gpu_inventory(_seen_of(listed)) or None,
        clusters=clusters,
    )
    return _dumped(whole)


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


def _sum(clusters: list[ClusterStatus], name: str) -> int:
    return sum(getattr(cluster, name) or 0 for cluster in clusters)


def _short(state: Founded) -> str:
    placement = state.attempt.placement
    lot = placement.lots[0]
    return f"{placement.cloud}/{placement.region} {lot.instance}{' spot' if lot.spot else ''}"


def _phase(facts: tuple[Facts, ...]) -> str:
    """What all clusters are, or what the least advanced of them is."""
    phases = [phase(each) for each in facts]
    return min(phases, key=lambda one: ORDER.index(one) if one in ORDER else -1) if phases else "Empty"


TOLD = ("Accepted", "Ready", "Resizing", "Upgrading", KUBECONFIG)
"""Whose message is the Colony's, in one line: what somebody wrote and has to mend comes first."""
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


def _accepted(facts: tuple[Facts, ...]) -> Verdict:
    complaint = "; ".join(_complaints(facts))
    return Verdict(not complaint, "Refused" if complaint else "Accepted", complaint)


def _complaints(facts: tuple[Facts, ...]) -> Iterator[str]:
    for each in facts:
        state = each.cluster
        why = state.refused if isinstance(state, Founded) and not asked_since(each) else each.refused
        if why:
            yield f"{each.wish.cluster}: {why}"


def _ready(facts: tuple[Facts, ...], ready: int) -> Verdict:
    if not facts:
        return Verdict(holds=False, reason="Empty", message="the Colony asks for no cluster")
    if ready == len(facts):
        return Verdict(holds=True, reason="AllClustersReady")
    least = min(
        (each for each in facts if not isinstance(each.cluster, Ready)), key=lambda each: ORDER.index(phase(each))
    )
    why = missing(least)
    return Verdict(holds=False, reason=why.reason, message=f"{least.wish.cluster}: {why.message}")


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
    return addons_applied([f"{each.wish.cluster}/{name}" for each in facts for name in unapplied(each)])


def _seen_of(facts: tuple[Facts, ...]) -> Iterator[ClusterSeen]:
    for each in facts:
        seen = counted(each, each.cluster) if isinstance(each.cluster, Founded) else None
        if seen is not None:
            yield seen


def same(computed: Object, shown: Object) -> bool:
    """Whether the object shows already what was computed."""
    return computed == shown  # as values, for an API server writes 2.0 as 2
