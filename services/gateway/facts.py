"""What is known of one cluster of a Colony, from wherever it was said."""

from dataclasses import dataclass
from datetime import datetime

from schemas.addon import AddonState
from schemas.cluster import ClusterState, Founded, Released
from schemas.infra import InfraSeen
from schemas.inventory import ClusterSeen
from schemas.placement import Placement
from schemas.teardown import TeardownState
from schemas.wish import Need, Wish


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


def counted(facts: Facts, state: Founded) -> ClusterSeen | None:
    """What was counted on the cluster of this very attempt."""
    seen = facts.seen
    known = seen is not None and seen.uid == state.uid and seen.attempt in (0, state.attempt.number)
    return seen if known else None


def endpoint(facts: Facts, state: Founded) -> str:
    """The URL of the API server of this very attempt; empty where the back end does not tell it."""
    infra = facts.infra
    known = infra is not None and (infra.uid, infra.attempt) == (state.uid, state.attempt.number)
    return infra.endpoint if infra is not None and known else ""


def wanted(facts: Facts) -> Need | Placement:
    """What there shall be of nodes and accelerators: what was decided on, or else what is asked for."""
    state, wish = facts.cluster, facts.wish
    if not isinstance(state, Founded) or asked_since(facts):
        return wish.need
    return state.wanted or state.attempt.placement


def asked_since(facts: Facts) -> bool:
    """Something else was asked of the cluster than what was decided on yet."""
    state, wish = facts.cluster, facts.wish
    if isinstance(state, Released):
        return wish.asks_anew(state.wish)
    return state is not None and wish.newer_than(state.wish) and wish.need != state.wish.need


def whole(moment: datetime) -> datetime:
    """As a status writes times."""
    return moment.replace(microsecond=0)


def phase(facts: Facts) -> str:
    """The cluster's state, as the status names it; one that is over and asked for again is not over."""
    if facts.refused:
        return "Stalled"
    pending = facts.cluster is None or (isinstance(facts.cluster, Released) and asked_since(facts))
    return "Pending" if pending else type(facts.cluster).__name__
