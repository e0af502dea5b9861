"""How far a cluster's end is, what holds it up and what that costs is told here, in one sentence."""

from schemas.cluster import Releasing
from schemas.teardown import Cleaning, Draining, Ending, Gone, Stuck, TeardownState
from services.colony.cost import held
from services.gateway.status.facts import Facts, clock, ending, phase

WHY = {"Deleted": "it was deleted", "TimeToLive": "its time to live is over", "Idle": "it was idle"}
"""Why a cluster ends, for people; what is not here tells itself."""


def ends(facts: Facts) -> str:
    """How far its end is: since when, why, what it still costs, what holds it up and until when, what was given up."""
    end = ending(facts)
    if end is None:
        return ""
    attempt, _ = held(facts.cluster) if facts.cluster else (None, None)
    price = attempt.placement.price_per_hour if attempt else 0.0
    costs = f", at ${price:.2f} an hour" if price else ""
    began = f"ending since {clock(end.began)} ({WHY.get(end.why, end.why)}): {phase(facts).lower()}{costs}"
    told = ": ".join(filter(None, (began, held_up(end), _others(facts))))
    return "; ".join((told, *_until(facts, end), *given_up(end)))


def held_up(state: TeardownState) -> str:
    """What its step waits for; empty while nothing is known to hold it up."""
    stuck = state.message if isinstance(state, Stuck) else ""
    return ": ".join(filter(None, (stuck, state.blocked if isinstance(state, Ending) else "")))


def given_up(state: TeardownState) -> list[str]:
    """Each step that was given up, and what may be left because of that."""
    skipped = state.skipped if isinstance(state, Ending | Gone) else ()
    return [f"{each.step} was given up ({each.reason}): {each.left} may be left" for each in skipped]


def _until(facts: Facts, end: Ending) -> list[str]:
    """When the step is given up at the latest, and how it is given up now."""
    if not isinstance(end, Draining | Cleaning):
        return []
    force = f", or now with `alate delete {facts.wish.colony} --force`" if facts.wish.deleting else ""
    return [f"given up at {clock(end.ends_at)}{force}"]


def _others(facts: Facts) -> str:
    """What its back end tells of its release."""
    state = facts.cluster
    return getattr(state, "held", "") or (facts.infra.message if facts.infra and isinstance(state, Releasing) else "")
