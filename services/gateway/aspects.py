"""How far one cluster has come is told aspect by aspect, each with its reason, from what its owners have said.

Each aspect rests on the one before it. A cluster that is ready was proven to have them all; as long as its owner calls
it that, a count that is short for a moment withdraws none of them.
"""

from collections.abc import Mapping

from schemas.addon import Applied
from schemas.cluster import ClusterState, Founded, Hibernated, Launching, Provisioned, Ready, Stalled, Waiting
from services.capacity import INTERRUPTED
from services.counts import unmet
from services.gateway.conditions import Verdict
from services.gateway.facts import Facts, asked_since, counted, phase
from services.gateway.tells import gets, message

UNHEARD = Verdict(
    holds=None, reason="NotHeard", message="its API cannot be heard: what is shown of its nodes is what was seen last"
)

AS_ASKED = Verdict(holds=False, reason="AsAsked")


def aspects(facts: Facts) -> Mapping[str, Verdict]:
    """Every aspect of one cluster, by the type of its condition."""
    return {
        "Placed": placed(facts),
        "Reachable": reachable(facts),
        "Schedulable": schedulable(facts),
        "AcceleratorsReady": accelerators_ready(facts),
        "AddonsApplied": addons_applied(unapplied(facts)),
        "Resizing": resizing(facts),
        "Upgrading": upgrading(facts),
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
    seen = counted(facts, state)
    return UNHEARD if seen is not None and not seen.known else Verdict(holds=True, reason="ApiAnswers")


def schedulable(facts: Facts) -> Verdict:
    """As many nodes are ready as it has to have."""
    return _counted(facts, "nodes", "NodesReady")


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


def unapplied(facts: Facts) -> list[str]:
    """The add-ons that are not on it as they are asked for."""
    there = {(one.addon, one.digest) for one in facts.addons if isinstance(one, Applied)}
    return [asked.name for asked in facts.wish.addons if (asked.name, asked.digest) not in there]


def addons_applied(waits: list[str]) -> Verdict:
    """None of these is waited for any more."""
    if waits:
        return Verdict(holds=False, reason="Waiting", message=f"waiting for {', '.join(waits)}")
    return Verdict(holds=True, reason="AllApplied")


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


def ready(facts: Facts) -> Verdict:
    """Every accelerator that was bought can be used."""
    return Verdict(holds=True, reason="AllThere") if isinstance(facts.cluster, Ready) else missing(facts)


def missing(facts: Facts) -> Verdict:
    """It has not come so far, or is no more: what it is doing instead."""
    state = facts.cluster
    reason = state.reason if isinstance(state, Stalled | Waiting) else _interrupted(state) or phase(facts)
    return Verdict(holds=False, reason=phase(facts) if facts.refused else reason, message=message(facts))


def _interrupted(state: ClusterState | None) -> str:
    """The reason of what was whole on spot machines, and is not; empty for all else."""
    if not isinstance(state, Provisioned) or not state.was_ready:
        return ""
    return INTERRUPTED if any(lot.spot for lot in state.attempt.placement.lots) else ""
