"""Where nothing takes time, what a controller would say in two breaths is said in one write."""

from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from events.kube import Object
from services.sandbox.clouds.capi import step
from services.sandbox.clouds.changes import Change, Say
from services.sandbox.clouds.view import Laws, View

BREATHS = 4
"""How many writes become one at the most: controllers that contradict themselves are to be seen."""


def brief(view: View, now: datetime, laws: Laws) -> tuple[Change, ...]:
    """The next step; at no pace at all together with what would be said of the same objects right after."""
    wanted = step(view, now, laws)
    for _ in range(BREATHS - 1 if laws.clock.instant else 0):
        said = _statuses(wanted)
        more = _statuses(step(_after(view, said), now, laws)) if said else {}
        if not said or said.keys() != more.keys():
            break
        wanted = tuple(replace(said[uid], status=_joined(said[uid].status, more[uid].status)) for uid in said)
    return wanted


def _statuses(wanted: tuple[Change, ...]) -> dict[str, Say]:
    """By the object's uid, if nothing else is wanted."""
    said = {each.of["metadata"]["uid"]: each for each in wanted if isinstance(each, Say)}
    return said if len(said) == len(wanted) else {}


def _after(view: View, said: dict[str, Say]) -> View:
    """The view as it will be once all that is written."""
    parts: dict[str, Any] = {each.name: _told(getattr(view, each.name), said) for each in fields(view)}
    return replace(view, **parts)


def _told(part: object, said: dict[str, Say]) -> object:
    if isinstance(part, list):
        return [_told(each, said) for each in part]
    say = said.get(part["metadata"]["uid"]) if isinstance(part, dict) else None
    return {**say.of, "status": _lean(_joined(say.of.get("status") or {}, say.status))} if say else part


def _joined(first: Object, then: Object) -> Object:
    """Two merge patches as one."""
    both = {key: _joined(first[key], then[key]) for key in first.keys() & then.keys() if _maps(first[key], then[key])}
    return {**first, **then, **both}


def _maps(*values: object) -> bool:
    return all(isinstance(each, dict) for each in values)


def _lean(value: Object) -> Object:
    """Without the nulls a merge patch takes away with."""
    return {k: _lean(v) if isinstance(v, dict) else v for k, v in value.items() if v is not None}
