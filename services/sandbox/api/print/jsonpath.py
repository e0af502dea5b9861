"""The part of JSONPath that printer columns and scale paths of CRDs use."""

import re
from collections.abc import Callable
from functools import lru_cache

_STEP = re.compile(
    r"\.(?P<field>(?:[^.\[\]\\]|\\.)+)"
    r"|\[['\"](?P<quoted>[^'\"]+)['\"]\]"
    r"|\[(?P<index>-?\d+)\]"
    r"|(?P<all>\[\*\]|\.\*)"
    r"|\[\?\(\s*@\.(?P<key>[\w.\\/-]+)\s*==\s*(?P<value>'[^']*'|\"[^\"]*\"|[^)\s]+)\s*\)\]"
)

Find = Callable[[object], list[object]]
"""Returns all values at a path."""


@lru_cache(maxsize=1024)
def path(text: str) -> Find:
    """Read a path such as ``.status.conditions[?(@.type=="Ready")].status``."""
    steps = [_step(found) for found in _STEP.finditer(text.strip("{}"))]

    def find(value: object) -> list[object]:
        found = [value]
        for step in steps:
            found = [below for item in found for below in step(item)]
        return found

    return find


def _step(found: re.Match[str]) -> Find:
    if found["all"]:
        return _all
    if found["index"] is not None:
        return _at(int(found["index"]))
    if found["key"]:
        return _where(found["key"], found["value"].strip("'\""))
    return _field((found["field"] or found["quoted"]).replace("\\", ""))


def _field(name: str) -> Find:
    return lambda value: [value[name]] if isinstance(value, dict) and value.get(name) is not None else []


def _all(value: object) -> list[object]:
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []


def _at(index: int) -> Find:
    return lambda value: value[index : index + 1 or None] if isinstance(value, list) else []


def _where(key: str, wanted: str) -> Find:
    inner = path(f".{key}")

    def choose(value: object) -> list[object]:
        items = value if isinstance(value, list) else []
        return [item for item in items if [_plain(v) for v in inner(item)] == [wanted]]

    return choose


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
