"""Conditions as Cluster API v1beta2 sets and sums them up."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from events.kube.client import Object, Resource
from services.sandbox.clouds.model.actions import Action, PatchStatus
from services.sandbox.clouds.model.objects import name, stamp, status


class SandboxCondition(NamedTuple):
    """A condition without its times."""

    type: str
    status: str
    reason: str
    message: str = ""

    @property
    def true(self) -> bool:
        return self.status == "True"

    def named(self, type_: str) -> "SandboxCondition":
        """A copy under another type."""
        return self._replace(type=type_)


def current_condition(of: Object | None, type_: str) -> SandboxCondition | None:
    """The condition an object has now; None without one."""
    for raw in status(of).get("conditions", ()) if of else ():
        if raw["type"] == type_:
            return SandboxCondition(type_, raw["status"], raw["reason"], raw.get("message", ""))
    return None


def holds(of: Object | None, type_: str) -> bool:
    """Whether a condition is True."""
    found = current_condition(of, type_)
    return found is not None and found.true


def patch_status(
    resource: Resource, of: Object, conditions: Iterable[SandboxCondition], fields: Object, now: datetime
) -> Iterator[Action]:
    """Patch the conditions, then everything else, in the two writes that the real controllers make."""
    wanted = _dated(of, conditions, now)
    if wanted != status(of).get("conditions"):
        yield PatchStatus(resource, of, {"conditions": wanted})
        return
    differing = {key: value for key, value in fields.items() if status(of).get(key) != value}
    if differing:
        yield PatchStatus(resource, of, {key: _replacing(status(of).get(key), new) for key, new in differing.items()})


def _dated(of: Object, conditions: Iterable[SandboxCondition], now: datetime) -> list[Object]:
    before = {raw["type"]: raw for raw in status(of).get("conditions", ())}
    generation, stamped = of["metadata"].get("generation", 1), stamp(now)
    return [_raw(each, before.get(each.type), generation, stamped) for each in conditions]


def _raw(each: SandboxCondition, before: Object | None, generation: int, now: str) -> Object:
    same = before is not None and before["status"] == each.status
    return {
        "type": each.type,
        "status": each.status,
        "reason": each.reason,
        "message": each.message,
        "observedGeneration": generation,
        "lastTransitionTime": before["lastTransitionTime"] if before and same else now,
    }


def _replacing(old: object, new: object) -> object:
    """A merge patch that removes the keys that are no longer there."""
    if isinstance(old, dict) and isinstance(new, dict):
        return {key: None for key in old if key not in new} | new
    return new


def paused(resource: Resource, of: Object, now: datetime) -> Iterator[Action]:
    """Set the Paused condition, as every controller does first."""
    if current_condition(of, "Paused") is None:
        yield from patch_status(resource, of, [SandboxCondition("Paused", "False", "NotPaused")], {}, now)


def bullet_list(lines: Iterable[tuple[str, str]], plural: str = "") -> str:
    """One bullet per message with all objects that report it; `plural` is the word for several."""
    said: dict[str, list[str]] = {}
    for who, message in lines:
        said.setdefault(message, []).append(who)
    return "\n".join(_bullet(who, message, plural) for message, who in said.items())


def _bullet(who: Sequence[str], message: str, plural: str) -> str:
    kind, _, first = who[0].rpartition(" ")
    names = ", ".join([first, *(one.rpartition(" ")[2] for one in who[1:3])])
    rest = f", ... ({len(who) - 3} more)" if len(who) > 3 else ""
    head = f"{plural if len(who) > 1 and plural else kind} {names}{rest}".strip()
    if message.startswith("* "):
        return f"* {head}:\n" + "\n".join(f"  {line}" for line in message.splitlines())
    return f"* {head}: {message}"


def ready(type_: str, machines: Sequence[Object]) -> SandboxCondition:
    """The ready condition of a set of machines: the worst of theirs."""
    if not machines:
        return SandboxCondition(type_, "True", "NoReplicas")
    seen = [(f"Machine {name(each)}", current_condition(each, "Ready")) for each in machines]
    bad = [(who, one.message) for who, one in seen if one and one.status == "False"]
    unsure = [
        (who, one.message if one else "Condition Ready not yet reported")
        for who, one in seen
        if one is None or one.status == "Unknown"
    ]
    if bad:
        return SandboxCondition(type_, "False", "NotReady", bullet_list([*bad, *unsure], "Machines"))
    if unsure:
        return SandboxCondition(type_, "Unknown", "ReadyUnknown", bullet_list(unsure, "Machines"))
    return SandboxCondition(type_, "True", "Ready")


def up_to_date(type_: str, machines: Iterable[Object]) -> SandboxCondition:
    """The up-to-date condition; machines without one do not count."""
    said = [(f"Machine {name(each)}", one) for each in machines if (one := current_condition(each, "UpToDate"))]
    if behind := [(who, one.message) for who, one in said if not one.true]:
        return SandboxCondition(type_, "False", "NotUpToDate", bullet_list(behind, "Machines"))
    return SandboxCondition(type_, "True", "UpToDate" if said else "NoReplicas")


def summed(
    type_: str, of: Sequence[tuple[str, SandboxCondition | None]], *, true: str, unknown: str, false: str
) -> SandboxCondition:
    """Merge one condition of several objects: any True, else any Unknown, else False."""
    yes = [(who, one.message) for who, one in of if one and one.true]
    if yes:
        return SandboxCondition(type_, "True", true, bullet_list(yes))
    if any(one is None for _, one in of):
        silent = [(who, f"Condition {type_} not yet reported") for who, one in of if one is None]
        return SandboxCondition(type_, "Unknown", unknown, bullet_list(silent))
    return SandboxCondition(type_, "False", false)
