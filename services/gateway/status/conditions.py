"""How far one cluster has come is told aspect by aspect, each with its reason, from what its owners have said.

Each aspect rests on the one before it. A cluster that is ready was proven to have them all; as long as its owner calls
it that, a count that is short for a moment withdraws none of them. What ends, cannot be heard or lacks an add-on is not
Ready whatever its owner calls it.
"""

from collections.abc import Mapping

from schemas.cluster import ClusterState, Founded, Hibernated, Launching, Provisioned, Ready, Stalled, Waiting
from schemas.inventory import UNREADABLE
from schemas.teardown import Warned
from services.colony.shortfall import unmet
from services.gateway.status.facts import (
    ADDONS_DEGRADED,
    UNKNOWN,
    WITHOUT_ADDONS,
    Facts,
    asked_since,
    counted,
    ending,
    phase,
    unheard,
)
from services.gateway.status.message import gets, message, silent, waits_for_addons
from services.gateway.status.transition_times import Verdict
from services.market.capacity import INTERRUPTED

REASONS = {UNKNOWN: "NotHeard", WITHOUT_ADDONS: "AddonsNotApplied", ADDONS_DEGRADED: "AddonsNotApplied"}
"""Why a cluster in these phases is not ready; of any other the phase itself is the reason."""
AS_ASKED = Verdict(holds=False, reason="AsAsked")


def aspects(facts: Facts) -> Mapping[str, Verdict]:
    """Every aspect of one cluster, by the type of its condition."""
    return {
        "Placed": placed(facts),
        "Reachable": reachable(facts),
        "Schedulable": schedulable(facts),
        "AcceleratorsReady": accelerators_ready(facts),
        "AddonsApplied": addons_applied(waits_for_addons(facts)),
        "Resizing": resizing(facts),
        "Upgrading": upgrading(facts),
        "Ending": ends(facts),
        "Ready": ready(facts),
    }


def generation(facts: Facts, newest: int) -> int:
    """The generation of the Colony that the aspects are of: an older one until its owner has answered the newest."""
    state = facts.cluster
    return state.wish.generation if state is not None and asked_since(facts) else newest


def placed(facts: Facts) -> Verdict:
    """An offer is chosen for it."""
    return Verdict(holds=True, reason="OfferChosen") if isinstance(facts.cluster, Founded) else missing(facts)


def reachable(facts: Facts) -> Verdict:
    """Its API answers."""
    state = facts.cluster
    if not isinstance(state, Founded) or isinstance(state, Launching):
        return missing(facts)
    if (seen := unheard(facts)) is not None:
        return Verdict(holds=None, reason=UNREADABLE if seen.unreadable else "NotHeard", message=silent(facts))
    return Verdict(holds=True, reason="ApiAnswers")


def schedulable(facts: Facts) -> Verdict:
    """As many nodes are ready as it has to have, and take pods: its end has not closed them."""
    return missing(facts) if cordoned(facts) else _counted(facts, "nodes", "NodesReady")


def accelerators_ready(facts: Facts) -> Verdict:
    """As many accelerators can be used as it has to have."""
    return _counted(facts, "accelerators", "AcceleratorsUsable")


def _counted(facts: Facts, what: str, enough: str) -> Verdict:
    state = facts.cluster
    if not isinstance(state, Founded) or isinstance(state, Launching | Hibernated):
        return missing(facts)
    seen = counted(facts, state)
    there = isinstance(state, Ready) or (seen is not None and not getattr(unmet(state, seen), what))
    return Verdict(holds=True, reason=enough) if there else missing(facts)


def cordoned(facts: Facts) -> bool:
    """Its nodes take no pods any more, for it ends; those of a cluster that stands on are left as they are."""
    end = ending(facts)
    return end is not None and not (end.lent or end.wish.need.kept)


def addons_applied(waits: str) -> Verdict:
    """No add-on is waited for any more; `waits` tells those that are, and why."""
    return Verdict(holds=False, reason="Waiting", message=waits) if waits else Verdict(holds=True, reason="AllApplied")


def resizing(facts: Facts) -> Verdict:
    """Its pools are getting another size; it stays ready meanwhile."""
    state = facts.cluster
    if not isinstance(state, Founded) or not (state.resizing or state.wanted or asked_since(facts)):
        ungrown = state.ungrown if isinstance(state, Ready) else None
        return Verdict(holds=False, reason=ungrown.reason, message=ungrown.message) if ungrown else AS_ASKED
    late = state.resizing is not None and state.resizing.late
    return Verdict(holds=True, reason="Late" if late else "Resizing", message=message(facts))


def upgrading(facts: Facts) -> Verdict:
    """It is getting another version of Kubernetes; it stays ready meanwhile."""
    going = facts.cluster.upgrading if isinstance(facts.cluster, Founded) else None
    if going is None:
        return AS_ASKED
    return Verdict(holds=True, reason="Late" if going.late else "Upgrading", message=gets(going))


def ends(facts: Facts) -> Verdict:
    """It is being taken away; or it is about to be, which is told as long as it can be stopped."""
    if ending(facts) is not None or phase(facts) == "Deleting":
        return Verdict(holds=True, reason=phase(facts), message=message(facts))
    if isinstance(facts.teardown, Warned):
        return Verdict(holds=False, reason="Warned", message=message(facts))
    return AS_ASKED


def ready(facts: Facts) -> Verdict:
    """Every accelerator that was bought can be used, every add-on is there, and it stays."""
    return Verdict(holds=True, reason="AllThere") if phase(facts) == Ready.__name__ else missing(facts)


def missing(facts: Facts) -> Verdict:
    """It has not come so far, or is no more: what it is doing instead."""
    state, at = facts.cluster, phase(facts)
    own = (state.reason if isinstance(state, Stalled | Waiting) else _interrupted(state)) if _at(state, at) else ""
    return Verdict(holds=None if at == UNKNOWN else False, reason=own or REASONS.get(at, at), message=message(facts))


def _at(state: ClusterState | None, phase: str) -> bool:
    return type(state).__name__ == phase


def _interrupted(state: ClusterState | None) -> str:
    """The reason of what was whole on spot machines, and is not; empty for all else."""
    if not isinstance(state, Provisioned) or not state.was_ready:
        return ""
    return INTERRUPTED if any(lot.spot for lot in state.attempt.placement.lots) else ""
