"""The conditions of a cluster and of its Colony, each with its reason, from what their owners have published.

Each condition of a cluster rests on the one before it. A cluster that is ready was proven to meet them all: as long as
its owner calls it ready, a count that is short for a moment withdraws none of them. A cluster that ends, cannot be
reached or lacks a required add-on is not Ready, whatever its owner calls it.
"""

from collections.abc import Callable, Iterator, Mapping

from schemas.cluster import ClusterState, Hibernated, Launching, Placed, Provisioned, Ready, Stalled, Waiting
from schemas.inventory import UNREADABLE
from schemas.registry import declared
from schemas.teardown import Warned
from services.colony.accounting import missing_now
from services.gateway.status.facts import (
    ADDONS_DEGRADED,
    PHASES,
    STUCK,
    UNKNOWN,
    WITHOUT_ADDONS,
    ConditionState,
    Facts,
    KubeconfigStatus,
    current_inventory,
    has_newer_wish,
    phase,
    running_teardown,
    unreachable,
)
from services.gateway.status.message import addons_message, message, unreachable_message, upgrade_message
from services.market.capacity import INTERRUPTED

REASONS = {UNKNOWN: "Unreachable", WITHOUT_ADDONS: "AddonsNotApplied", ADDONS_DEGRADED: "AddonsNotApplied"}
"""Why a cluster in these phases is not ready; in any other phase the phase itself is the reason."""
STALLED_PHASES = (STUCK, declared(Stalled).phase, ADDONS_DEGRADED)
AS_REQUESTED = ConditionState(holds=False, reason="AsRequested")
KUBECONFIG_WRITTEN = "KubeconfigWritten"
STALLED = "Stalled"
"""The condition by which kstatus tells that an object does not go on by itself."""


def colony_conditions(
    listed: tuple[Facts, ...], asked: tuple[Facts, ...], kubeconfig: KubeconfigStatus
) -> Mapping[str, ConditionState]:
    """Every condition of a Colony, by type; `listed` also has the clusters that its spec names no longer."""
    return {
        "Accepted": _colony_accepted(asked),
        "Ready": _colony_ready(asked),
        "Resizing": _any_cluster(asked, resizing),
        "Upgrading": _any_cluster(asked, upgrading),
        "AddonsApplied": _colony_addons_applied(asked),
        "Ending": _any_cluster(listed, is_ending),
        STALLED: _any_cluster(listed, stalled),
    } | ({KUBECONFIG_WRITTEN: kubeconfig.condition} if kubeconfig.condition else {})


def cluster_conditions(facts: Facts) -> Mapping[str, ConditionState]:
    """Every condition of one cluster, by type."""
    return {
        "Placed": placed(facts),
        "Reachable": reachable(facts),
        "Schedulable": schedulable(facts),
        "AcceleratorsReady": accelerators_ready(facts),
        "AddonsApplied": addons_applied(addons_message(facts)),
        "Resizing": resizing(facts),
        "Upgrading": upgrading(facts),
        "Ending": is_ending(facts),
        "Ready": ready(facts),
    }


def condition_generation(facts: Facts, newest: int) -> int:
    """The generation of the Colony that a cluster's conditions are of: its owner may not have answered the newest."""
    state = facts.cluster
    return state.wish.generation if state is not None and has_newer_wish(facts) else newest


def _colony_accepted(facts: tuple[Facts, ...]) -> ConditionState:
    refusals = "; ".join(_refusals(facts))
    return ConditionState(not refusals, "Refused" if refusals else "Accepted", refusals)


def _refusals(facts: tuple[Facts, ...]) -> Iterator[str]:
    for each in facts:
        state = each.cluster
        why = state.refused if isinstance(state, Placed) and not has_newer_wish(each) else each.refused
        if why:
            yield f"{each.wish.cluster}: {why}"


def _colony_ready(facts: tuple[Facts, ...]) -> ConditionState:
    if not facts:
        return ConditionState(holds=False, reason="Empty", message="the Colony asks for no cluster")
    short = [each for each in facts if phase(each) != declared(Ready).phase]
    if not short:
        return ConditionState(holds=True, reason="AllClustersReady")
    least = min(short, key=lambda each: PHASES.index(phase(each)))
    why = not_ready(least)
    return ConditionState(holds=why.holds, reason=why.reason, message=f"{least.wish.cluster}: {why.message}")


def _any_cluster(facts: tuple[Facts, ...], condition: Callable[[Facts], ConditionState]) -> ConditionState:
    """A condition that the Colony has if one of its clusters has it, with the messages of all of them."""
    states = [(each.wish.cluster, state) for each in facts if (state := condition(each)) != AS_REQUESTED]
    holding = [(name, state) for name, state in states if state.holds]
    if not states:
        return AS_REQUESTED
    late = next((state.reason for _, state in holding if state.reason == "Late"), "")
    text = "; ".join(f"{name}: {state.message}" for name, state in states)
    return ConditionState(holds=bool(holding), reason=late or (holding or states)[0][1].reason, message=text)


def _colony_addons_applied(facts: tuple[Facts, ...]) -> ConditionState:
    waiting = ((each.wish.cluster, addons_message(each)) for each in facts)
    return addons_applied("; ".join(f"{name}: {text}" for name, text in waiting if text))


def placed(facts: Facts) -> ConditionState:
    """An offer is chosen for the cluster."""
    return ConditionState(holds=True, reason="OfferChosen") if isinstance(facts.cluster, Placed) else not_ready(facts)


def reachable(facts: Facts) -> ConditionState:
    """Its API answers."""
    state = facts.cluster
    if not isinstance(state, Placed) or isinstance(state, Launching):
        return not_ready(facts)
    if (seen := unreachable(facts)) is not None:
        reason = UNREADABLE if seen.unreadable else "Unreachable"
        return ConditionState(holds=None, reason=reason, message=unreachable_message(facts))
    return ConditionState(holds=True, reason="ApiAnswers")


def schedulable(facts: Facts) -> ConditionState:
    """As many nodes as requested are ready and accept pods: a teardown has not cordoned them."""
    return not_ready(facts) if cordoned(facts) else _enough(facts, "nodes", "NodesReady")


def accelerators_ready(facts: Facts) -> ConditionState:
    """As many accelerators as requested can be used."""
    return _enough(facts, "accelerators", "AcceleratorsUsable")


def _enough(facts: Facts, what: str, reason: str) -> ConditionState:
    state = facts.cluster
    if not isinstance(state, Placed) or isinstance(state, Launching | Hibernated):
        return not_ready(facts)
    seen = current_inventory(facts, state)
    enough = isinstance(state, Ready) or (seen is not None and not getattr(missing_now(state, seen), what))
    return ConditionState(holds=True, reason=reason) if enough else not_ready(facts)


def cordoned(facts: Facts) -> bool:
    """Whether its teardown has cordoned its nodes; those of a cluster that is not deleted are left alone."""
    end = running_teardown(facts)
    return end is not None and not (end.lent or end.wish.need.kept)


def addons_applied(waiting: str) -> ConditionState:
    """No add-on is missing; `waiting` names those that are, and why."""
    if waiting:
        return ConditionState(holds=False, reason="Waiting", message=waiting)
    return ConditionState(holds=True, reason="AllApplied")


def resizing(facts: Facts) -> ConditionState:
    """Its pools are getting another size; it stays ready meanwhile."""
    state = facts.cluster
    if not isinstance(state, Placed) or not (state.resizing or state.wanted or has_newer_wish(facts)):
        ungrown = state.unmet_demand if isinstance(state, Ready) else None
        return ConditionState(holds=False, reason=ungrown.reason, message=ungrown.message) if ungrown else AS_REQUESTED
    late = state.resizing is not None and state.resizing.late
    return ConditionState(holds=True, reason="Late" if late else "Resizing", message=message(facts))


def upgrading(facts: Facts) -> ConditionState:
    """It is getting another version of Kubernetes; it stays ready meanwhile."""
    upgrade = facts.cluster.upgrading if isinstance(facts.cluster, Placed) else None
    if upgrade is None:
        return AS_REQUESTED
    return ConditionState(holds=True, reason="Late" if upgrade.late else "Upgrading", message=upgrade_message(upgrade))


def is_ending(facts: Facts) -> ConditionState:
    """It is being deleted; a warning that it is about to be is shown as long as that can be stopped."""
    if running_teardown(facts) is not None or phase(facts) == "Deleting":
        return ConditionState(holds=True, reason=phase(facts), message=message(facts))
    if isinstance(facts.teardown, Warned):
        return ConditionState(holds=False, reason="Warned", message=message(facts))
    return AS_REQUESTED


def stalled(facts: Facts) -> ConditionState:
    """It is not expected to become what it should be unless somebody mends something."""
    at = phase(facts)
    if at not in STALLED_PHASES:
        return AS_REQUESTED
    return ConditionState(
        holds=True, reason=_state_reason(facts.cluster, at) or REASONS.get(at, at), message=message(facts)
    )


def ready(facts: Facts) -> ConditionState:
    """Every accelerator that was bought can be used, every required add-on is applied, and the cluster does not end."""
    return ConditionState(holds=True, reason="AllReady") if phase(facts) == declared(Ready).phase else not_ready(facts)


def not_ready(facts: Facts) -> ConditionState:
    """It has not come so far, or has ended: what it is doing instead."""
    at = phase(facts)
    reason = _state_reason(facts.cluster, at) or REASONS.get(at, at)
    return ConditionState(holds=None if at == UNKNOWN else False, reason=reason, message=message(facts))


def _state_reason(state: ClusterState | None, at: str) -> str:
    """The reason that its state gives, if the phase shows that state; `Interrupted` if it lost its spot machines."""
    if state is None or declared(type(state)).phase != at:
        return ""
    if isinstance(state, Stalled | Waiting):
        return state.reason
    if not isinstance(state, Provisioned) or not state.was_ready:
        return ""
    return INTERRUPTED if any(lot.spot for lot in state.attempt.placement.lots) else ""
