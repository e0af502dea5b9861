"""A Trigger's status says in one sentence whether all of it works, and never speaks of an older generation."""

from datetime import UTC, datetime, timedelta

from services.edge.triggers.status import FOLLOWED, INVALID, is_written, status

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
OBJECTS = {"objects": [{"apiVersion": "batch/v1", "kind": "Job"}]}


def trigger(spec: dict | None = None, **told) -> dict:
    return {"metadata": {"name": "t", "namespace": "acme", "generation": 2}, "spec": spec or {}, "status": told}


def ready(item: dict, reason: str = FOLLOWED, message: str = "Its rules are followed.") -> tuple[str, str, str]:
    told = status(item, reason, message, NOW)
    found = next(each for each in told["conditions"] if each["type"] == "Ready")
    assert told["observedGeneration"] == found["observedGeneration"] == 2
    return found["status"], found["reason"], found["message"]


def watching(holds: str, generation: int = 2) -> dict:
    return {
        "type": "Watching", "status": holds, "observedGeneration": generation, "reason": "UnknownKind",
        "message": "train-gpu has no kind Widget.", "lastTransitionTime": "2026-01-01T00:00:00Z",
    }  # fmt: skip


def test_a_trigger_whose_rules_cannot_be_read_is_not_ready_and_stalled():
    told = status(trigger(), INVALID, "spec.rules[0].when is no CEL expression", NOW)
    holds = {each["type"]: (each["status"], each["message"]) for each in told["conditions"]}
    why = "spec.rules[0].when is no CEL expression"
    assert holds == {"Accepted": ("False", why), "Ready": ("False", why), "Stalled": ("True", why)}


def test_a_trigger_over_objects_is_ready_once_they_are_watched():
    assert ready(trigger(OBJECTS)) == ("Unknown", "Pending", "Its objects are not watched yet.")
    assert ready(trigger(OBJECTS, conditions=[watching("True", 1)]))[0] == "Unknown"
    assert ready(trigger(OBJECTS, conditions=[watching("True")])) == ("True", FOLLOWED, "Its rules are followed.")
    found = ready(trigger(OBJECTS, conditions=[watching("False")]))
    assert found == ("False", "UnknownKind", "train-gpu has no kind Widget.")


def test_a_status_that_says_the_same_is_not_written_again_and_keeps_its_time():
    first = status(trigger(), FOLLOWED, "Its rules are followed.", NOW)
    item = trigger(**first)
    assert is_written(item, status(item, FOLLOWED, "Its rules are followed.", LATER))
    beside = trigger(**first | {"conditions": [*first["conditions"], watching("True")]})
    assert is_written(beside, status(beside, FOLLOWED, "Its rules are followed.", LATER))
    assert not is_written(item, status(item, INVALID, "no", LATER))
