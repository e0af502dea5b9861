"""How far a cluster's end is, what holds it up and what that costs is told here, in one sentence."""

from schemas.cluster import Releasing
from schemas.teardown import Stuck
from services.bill import held
from services.gateway.facts import Facts, clock, ending, phase

WHY = {"Deleted": "it was deleted", "TimeToLive": "its time to live is over", "Idle": "it was idle"}
"""Why a cluster ends, for people; what is not here tells itself."""


def ends(facts: Facts) -> str:
    """How far its end is: since when, why, what it still costs and what holds it up."""
    end = ending(facts)
    if end is None:
        return ""
    attempt, _ = held(facts.cluster) if facts.cluster else (None, None)
    price = attempt.placement.price_per_hour if attempt else 0.0
    costs = f", at ${price:.2f} an hour" if price else ""
    why = f"{WHY.get(end.why, end.why)}: {phase(facts).lower()} since {clock(end.since)}{costs}"
    return ": ".join(filter(None, (why, _held_up(facts))))


def _held_up(facts: Facts) -> str:
    """What its end waits for."""
    end, state = facts.teardown, facts.cluster
    told = end.message if isinstance(end, Stuck) else ""
    why = getattr(state, "held", "") or (facts.infra.message if facts.infra and isinstance(state, Releasing) else "")
    return ": ".join(filter(None, (told, why)))
