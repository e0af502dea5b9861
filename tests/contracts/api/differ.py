"""Two servers' answers are laid side by side, field by field."""

import json
from collections.abc import Iterator
from typing import Any

from tests.contracts.api.allowed import ALLOWED, Allowed
from tests.contracts.api.say import Said

ABSENT = "<absent>"


def differences(fact: str, sandbox: list[Said], real: list[Said]) -> list[str]:
    """Where the sandbox says something else than the real server, apart from what is allowed."""
    found = []
    for index, (ours, theirs) in enumerate(zip(sandbox, real, strict=False)):
        for path, mine, other in unlike(ours.shown, theirs.shown):
            place = f"{index}.{path}"
            if not any(each.covers(fact, place) for each in ALLOWED):
                step = ours.step
                found.append(f"{place} ({step.method} {step.path}): sandbox {_short(mine)} real {_short(other)}")
    return found


def unlike(ours: Any, theirs: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Every path at which two values differ, with both."""
    match ours, theirs:
        case dict(), dict():
            for name in sorted(ours.keys() | theirs.keys()):
                below = f"{path}.{name}".lstrip(".")
                yield from unlike(ours.get(name, ABSENT), theirs.get(name, ABSENT), below)
        case list(), list() if len(ours) == len(theirs):
            for index, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
                yield from unlike(mine, other, f"{path}[{index}]")
        case _ if ours != theirs or type(ours) is not type(theirs):
            yield path, ours, theirs


def _short(value: Any) -> str:
    text = json.dumps(value, sort_keys=True)
    return text if len(text) < 900 else f"{text[:900]}…"


__all__ = ["Allowed", "differences", "unlike"]
