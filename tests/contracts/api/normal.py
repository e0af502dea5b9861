"""What no two servers can say alike (uids, times, versions, random names) is replaced by what it means."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_AGE = re.compile(r"(\d+[smhdy])+")
_TEXTS = (
    (re.compile(r"resource version: \d+ \(\d+\)"), "resource version: <asked> (<oldest>)"),
    (re.compile(r"(ResourceVersion in (?:the precondition|record)) \(\d+\)"), r"\1 (<version>)"),
    (re.compile(r'"\{.*\}": strict decoding'), '"<the whole object>": strict decoding'),  # keys in any order
    (_TIME, "<time>"),
)


@dataclass
class Memory:
    """Every uid and version of one conversation, numbered as they came up; one per server."""

    uids: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    def uid(self, value: str) -> str:
        return self.uids.setdefault(value, f"<uid {len(self.uids)}>")

    def version(self, value: str) -> str:
        return self.versions.setdefault(value, f"<version {len(self.versions)}>")

    def text(self, value: str) -> str:
        for uid, shown in self.uids.items():
            value = value.replace(uid, shown)
        for pattern, shown in _TEXTS:
            value = pattern.sub(shown, value)
        head, several, lines = value.partition(": errors:\n")  # in the order of a map of Go's
        return head + several + "\n".join(sorted(lines.split("\n"))) if several else value


def body(value: Any, memory: Memory) -> Any:  # noqa: PLR0911 - one return a form of answer
    """A whole answer, comparable."""
    match value:
        case {"kind": "Table"}:
            return _table(value, memory)
        case {"type": str(), "object": {"metadata": {}}} if value["type"] == "BOOKMARK":
            return {"type": "BOOKMARK", "object": _bookmark(value["object"], memory)}
        case {"type": str(), "object": {}}:
            return {"type": value["type"], "object": body(value["object"], memory)}
        case {"items": [*items], "metadata": {**meta}}:
            return {**value, "metadata": _list_meta(meta), "items": [body(item, memory) for item in items]}
        case {"items": None, "metadata": {**meta}}:  # Go writes an empty list of a typed kind as null
            return {**value, "metadata": _list_meta(meta), "items": []}
        case {"kind": "Status", "details": {"causes": [_, *_]}}:
            return _unordered(_any(value, memory))
    return _any(value, memory)


def _unordered(status: dict[str, Any]) -> dict[str, Any]:
    """Go walks maps in another order every time, so causes come in any; some are given twice."""
    causes = sorted({str(cause): cause for cause in status["details"]["causes"]}.values(), key=str)
    head = re.split(r" is invalid: |: conflicts with ", status["message"])[0]
    return {**status, "message": head, "details": {**status["details"], "causes": causes}}


def _any(value: Any, memory: Memory, name: str = "") -> Any:
    match value:
        case {"generateName": str(prefix), "name": str(made)} if made.startswith(prefix):
            rest = {k: v for k, v in value.items() if k != "name"}
            return {"name": f"{prefix}<{len(made) - len(prefix)} random>", **_any(rest, memory)}
        case dict():
            return {memory.text(key): _any(below, memory, key) for key, below in value.items()}
        case list():
            found = [_any(item, memory) for item in value]
            return sorted(found, key=_owner) if name == "managedFields" else found
        case str():
            return _string(value, memory, name)
    return value


def _string(value: str, memory: Memory, name: str) -> str:
    match name:
        case "uid" if value:
            return memory.uid(value)
        case "resourceVersion" if value.isdecimal():
            return memory.version(value)
        case "continue" if value:
            return "<continue>"
    return memory.text(value)


def _owner(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(entry.get(name, "")) for name in ("manager", "operation", "apiVersion", "subresource"))


def _list_meta(meta: Mapping[str, Any]) -> dict[str, Any]:
    # Another write, of anything, moves a list's version: only that there is one can be compared.
    marks = {"resourceVersion": "<list>", "continue": "<continue>"}
    return {key: marks.get(key, below) if below else below for key, below in meta.items()}


def _bookmark(shown: Mapping[str, Any], memory: Memory) -> Any:
    meta = {**shown["metadata"], "resourceVersion": "<bookmark>"}
    return _any({**shown, "metadata": meta}, memory)


def _table(table: Mapping[str, Any], memory: Memory) -> Any:
    ages = [
        i for i, column in enumerate(table.get("columnDefinitions") or ()) if column["name"] in ("Age", "Created At")
    ]
    rows = [_row(row, ages, memory) for row in table.get("rows") or ()]
    return {**_any(dict(table), Memory()), "metadata": _list_meta(table["metadata"]), "rows": rows}


def _row(row: Mapping[str, Any], ages: Iterable[int], memory: Memory) -> Any:
    cells = ["<age>" if i in ages or _AGE.fullmatch(str(c)) else c for i, c in enumerate(row["cells"])]
    return {**row, "cells": cells, "object": _any(row.get("object"), memory)}


def decoded(data: bytes) -> Any:
    """JSON, or text where it is none."""
    try:
        return json.loads(data)
    except ValueError:
        return data.decode(errors="replace")
