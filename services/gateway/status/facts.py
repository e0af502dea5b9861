"""What is known of one cluster of a Colony, from wherever it was said."""

from dataclasses import dataclass
from datetime import datetime

from schemas.addon import AddonState, Applied, Degraded
from schemas.cluster import ClusterState, Founded, Ready, Released
from schemas.infra import InfraSeen
from schemas.inventory import ClusterSeen
from schemas.placement import Placement
from schemas.teardown import Ending, TeardownState
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
    dropped: bool = False
    """The Colony stays, and asks for this cluster no more."""
    unseen: str = ""
    """Why it is not known what stands of it, where it has no history."""


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


def clock(moment: datetime) -> str:
    """As a message writes times: what a message says changes when the facts do, and never by the time that passes."""
    return f"{moment:%Y-%m-%d %H:%M:%S}Z"


def ending(facts: Facts) -> Ending | None:
    """Its teardown, from when its end has begun until nothing is left."""
    return facts.teardown if isinstance(facts.teardown, Ending) else None


def unheard(facts: Facts) -> ClusterSeen | None:
    """What was seen last of a cluster whose API cannot be heard; None while it can, or was never heard."""
    seen = counted(facts, facts.cluster) if isinstance(facts.cluster, Founded) else None
    return None if seen is None or seen.known else seen


def unapplied(facts: Facts) -> list[str]:
    """The add-ons that are not on it as they are asked for."""
    there = {(one.addon, one.digest) for one in facts.addons if isinstance(one, Applied)}
    return [asked.name for asked in facts.wish.addons if (asked.name, asked.digest) not in there]


def degraded(facts: Facts) -> list[Degraded]:
    """The add-ons that it is asked to have and that could not be put on it."""
    asked = {one.name for one in facts.wish.addons}
    return [one for one in facts.addons if isinstance(one, Degraded) and one.addon in asked]


UNKNOWN, WITHOUT_ADDONS, ADDONS_DEGRADED = "Unknown", "ApplyingAddons", "AddonsDegraded"
"""Phases of a cluster that its owner calls ready, and that nobody can use as it was asked for."""


def phase(facts: Facts) -> str:
    """What the cluster is, in a word: how far its end is once that has begun, or else its state.

    One that is over and asked for again is not over; Ready is only what is heard, and has its add-ons.
    """
    if facts.refused:
        return "Stalled"
    state, end = facts.cluster, ending(facts)
    if state is None or (isinstance(state, Released) and asked_since(facts)):
        return "Pending"
    if end is not None:
        return type(end).__name__
    if facts.wish.deleting and not isinstance(state, Released):
        return "Deleting"
    return _ready(facts) if isinstance(state, Ready) else type(state).__name__


def _ready(facts: Facts) -> str:
    if unheard(facts) is not None:
        return UNKNOWN
    if not unapplied(facts):
        return Ready.__name__
    return ADDONS_DEGRADED if degraded(facts) else WITHOUT_ADDONS
