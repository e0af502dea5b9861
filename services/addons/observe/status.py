"""The condition Watching of a Trigger, in one sentence."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from events.kube.client import Object
from schemas.crds import ConditionStatus, TriggerStatus
from schemas.crds.trigger import WATCHING
from services.addons.observe.watched import PENDING, ObjectWatch, WatchProblem

COSTLY = "TooCostly"


class WatchState(NamedTuple):
    """What is true of all watches of a Trigger together."""

    holds: Literal["True", "False", "Unknown"]
    reason: str
    message: str


def state_of(watches: Sequence[ObjectWatch], problems: Iterable[WatchProblem] = ()) -> WatchState:
    """The first problem in order of the clusters; `problems` are those of the Trigger as a whole."""
    for problem in problems:
        return WatchState("False", problem.reason, f"{problem.why}.")
    clusters = {each.name.cluster for each in watches}
    troubled = sorted((each.name.cluster, each.problem) for each in watches if each.problem)
    failed = [(cluster, problem) for cluster, problem in troubled if problem.reason != PENDING.reason]
    for cluster, problem in failed or troubled:
        holds: Literal["False", "Unknown"] = "False" if failed else "Unknown"
        others = len({name for name, _ in failed}) - 1
        more = f", and {others} more of {len(clusters)} clusters" if others > 0 else ""
        return WatchState(holds, problem.reason, f"{cluster}{more}: {problem.why}.")
    if not clusters:
        return WatchState("True", "NoCluster", "It selects no cluster that can be reached now.")
    return WatchState("True", "Watched", f"Its objects are watched in {len(clusters)} clusters.")


def condition(item: Object, state: WatchState, now: datetime) -> Object:
    """The status with the condition alone; the time of an unchanged one is kept."""
    before = watching(item)
    told = ConditionStatus(
        type=WATCHING,
        status=state.holds,
        observed_generation=item["metadata"].get("generation", 0),
        last_transition_time=before["lastTransitionTime"] if before.get("status") == state.holds else now,
        reason=state.reason,
        message=state.message,
    )
    return TriggerStatus(conditions=[told]).model_dump(mode="json", by_alias=True, exclude_none=True)


def watching(item: Object) -> Object:
    """The condition as the Trigger has it; empty: it has none."""
    conditions = item.get("status", {}).get("conditions", ())
    return next((each for each in conditions if each["type"] == WATCHING), {})


def is_off(item: Object) -> bool:
    """Whether its newest generation was found too costly."""
    told = watching(item)
    return told.get("reason") == COSTLY and told.get("observedGeneration") == item["metadata"].get("generation", 0)
