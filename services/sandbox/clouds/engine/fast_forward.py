"""Combines many steps into one write where nothing takes time."""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, cast

from events.kube.client import Object, Resource
from services.sandbox.api.objects.patch import merge
from services.sandbox.clouds.engine.controllers import order, step
from services.sandbox.clouds.model.actions import (
    Action,
    AddNode,
    PatchBoth,
    PatchObject,
    PatchStatus,
    RecordMachine,
    StartApi,
)
from services.sandbox.clouds.model.objects import deleting
from services.sandbox.clouds.model.snapshot import ClusterSnapshot, SimulationRules

MAX_STEPS = 64
"""The most steps that are combined, so that controllers that contradict each other are noticed."""

SIDE_EFFECTS = StartApi | AddNode | RecordMachine
"""Idempotent actions other than writes."""
Drafts = dict[str, "Draft"]
"""By the object's uid, in the order of the last write, since later ones may build on earlier ones."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An object as it will be, and the patches that lead there."""

    resource: Resource
    of: Object
    shown: Object
    patch: Object
    status: Object


def fast_forward(view: ClusterSnapshot, now: datetime, rules: SimulationRules) -> tuple[Action, ...]:
    """The next step; if the rules say so, combined with those that follow until something is created or deleted."""
    wanted = step(view, now, rules, turns := order(rules))
    deeds: list[Action] = []
    drafts: Drafts = {}
    for _ in range(MAX_STEPS if rules.combined else 0):
        if not _only_writes(wanted):
            break
        deeds += (each for each in wanted if isinstance(each, SIDE_EFFECTS))
        drafts = _drafted(drafts, wanted)
        wanted = step(_after(view, drafts), now, rules, turns)
    # What is done comes before what is said of it; each may be done again, should the saying fail.
    return (*deeds, *(PatchBoth(each.resource, each.of, each.patch, each.status) for each in drafts.values())) or wanted


def _only_writes(wanted: Iterable[Action]) -> bool:
    """Whether only existing objects change, and none that is being deleted."""
    writes = [each for each in wanted if isinstance(each, PatchStatus | PatchObject)]
    rest = [each for each in wanted if not isinstance(each, PatchStatus | PatchObject | SIDE_EFFECTS)]
    return bool(writes) and not rest and not any(deleting(each.of) for each in writes)


def _drafted(drafts: Drafts, wanted: Iterable[Action]) -> Drafts:
    """The drafts with the wanted writes applied."""
    found = dict(drafts)
    for each in wanted:
        if isinstance(each, PatchStatus | PatchObject):
            uid = each.of["metadata"]["uid"]
            before = found.pop(uid) if uid in found else Draft(each.resource, each.of, each.of, {}, {})
            found[uid] = _further(before, each)
    return found


def _further(draft: Draft, write: PatchStatus | PatchObject) -> Draft:
    if isinstance(write, PatchStatus):
        shown = _merged(draft.shown, {"status": write.status})
        return replace(draft, shown=shown, status=_joined(draft.status, write.status))
    shown = _merged(draft.shown, write.patch)
    count = draft.of["metadata"].get("generation", 1) + (shown.get("spec") != draft.of.get("spec"))
    shown["metadata"] = {**shown["metadata"], "generation": count}
    return replace(draft, shown=shown, patch=_joined(draft.patch, write.patch))


def _after(view: ClusterSnapshot, drafts: Drafts) -> ClusterSnapshot:
    """The snapshot after all drafts are written."""
    parts: dict[str, Any] = {each.name: _drawn(getattr(view, each.name), drafts) for each in fields(view)}
    return replace(view, **parts)


def _drawn(part: object, drafts: Drafts) -> object:
    if isinstance(part, list):
        return [_drawn(each, drafts) for each in part]
    draft = drafts.get(part["metadata"]["uid"]) if isinstance(part, dict) else None
    return draft.shown if draft else part


def _joined(first: Object, then: Object) -> Object:
    """Combine two merge patches."""
    both = {key: _joined(first[key], then[key]) for key in first.keys() & then.keys() if _maps(first[key], then[key])}
    return {**first, **then, **both}


def _maps(*values: object) -> bool:
    return all(isinstance(each, dict) for each in values)


def _merged(shown: Object, patch: Object) -> Object:
    """An object after a merge patch."""
    return cast("Object", merge(shown, patch, {}))
