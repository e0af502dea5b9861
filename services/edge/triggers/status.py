"""The status of a Trigger as the edge writes it: whether its rules are followed, and whether all of it works."""

from collections.abc import Iterable
from datetime import datetime
from typing import Literal, NamedTuple

from events.kube.client import Object
from schemas.crds import ConditionStatus, TriggerStatus
from schemas.crds.trigger import WATCHING

FOLLOWED, INVALID, COSTLY, PENDING = "Followed", "Invalid", "TooCostly", "Pending"
"""Reasons of conditions."""


class Verdict(NamedTuple):
    """What is true of a Trigger, as a condition says it."""

    holds: Literal["True", "False", "Unknown"]
    reason: str
    message: str


def status(item: Object, reason: str, message: str, now: datetime) -> Object:
    """The status of a Trigger; the time of an unchanged condition is kept."""
    accepted = Verdict("True" if reason == FOLLOWED else "False", reason, message)
    ready = _ready(item, accepted)
    stalled = Verdict("True" if accepted.holds == "False" else "False", reason, message)
    return TriggerStatus(
        observed_generation=_generation(item),
        conditions=[
            _condition(item, name, verdict, now)
            for name, verdict in (("Accepted", accepted), ("Ready", ready), ("Stalled", stalled))
        ],
    ).model_dump(mode="json", by_alias=True, exclude_none=True)


def is_written(item: Object, computed: Object) -> bool:
    """Whether the Trigger has this status already; the add-on service writes a condition of its own."""
    known = item.get("status", {})
    others = [each for each in _conditions(item) if each["type"] != WATCHING]
    return {**known, "conditions": others} == computed


def watching(item: Object) -> Object:
    """The condition of the add-on service, which watches the objects; empty: it has written none."""
    return _of(_conditions(item), WATCHING)


def is_off(item: Object) -> bool:
    """Whether its newest generation was found too costly."""
    accepted = _of(_conditions(item), "Accepted")
    return accepted.get("reason") == COSTLY and accepted.get("observedGeneration") == _generation(item)


def _ready(item: Object, accepted: Verdict) -> Verdict:
    if accepted.holds != "True" or not item.get("spec", {}).get("objects"):
        return accepted
    seen = watching(item)
    if seen.get("observedGeneration") != _generation(item):
        return Verdict("Unknown", PENDING, "Its objects are not watched yet.")
    return accepted if seen["status"] == "True" else Verdict(seen["status"], seen["reason"], seen["message"])


def _condition(item: Object, name: str, verdict: Verdict, now: datetime) -> ConditionStatus:
    before = _of(_conditions(item), name)
    return ConditionStatus(
        type=name,
        status=verdict.holds,
        observed_generation=_generation(item),
        last_transition_time=before["lastTransitionTime"] if before.get("status") == verdict.holds else now,
        reason=verdict.reason,
        message=verdict.message,
    )


def _conditions(item: Object) -> list[Object]:
    return list(item.get("status", {}).get("conditions", ()))


def _of(conditions: Iterable[Object], name: str) -> Object:
    return next((each for each in conditions if each["type"] == name), {})


def _generation(item: Object) -> int:
    return int(item["metadata"].get("generation", 0))
