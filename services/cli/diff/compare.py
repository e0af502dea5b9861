"""Compares an object with what an apply of its manifest would make of it, field by field, as a pure function."""

from collections.abc import Iterator, Mapping
from difflib import unified_diff
from typing import NamedTuple

from events.kube.client import Object

SENT = ("labels", "annotations", "finalizers", "ownerReferences")
"""What a manifest may say in its metadata besides what it is called."""
LEFT_OUT = frozenset({"apiVersion", "kind", "metadata", "status"})
AROUND = 2
"""Lines that are shown before and after one that differs."""
ABSENT = object()


class FieldDifference(NamedTuple):
    """One field that an apply would change."""

    path: str
    before: object
    """None: it is not there."""
    after: object
    """None: it would not be there."""

    def lines(self) -> Iterator[str]:
        """For people: one line, or of a text of several lines those that differ."""
        before, after = _text(self.before), _text(self.after)
        if "\n" in before + after:
            yield f"{self.path}:"
            changed = unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=AROUND)
            yield from (f"  {line}" for line in changed if not line.startswith(("---", "+++", "@@")))
        elif self.before is None:
            yield f"+ {self.path}: {after}"
        elif self.after is None:
            yield f"- {self.path}: {before}"
        else:
            yield f"{self.path}: {before} -> {after}"


def differences(before: Object | None, after: Object) -> list[FieldDifference]:
    """What differs of what people write; `before` is None for a new object."""
    return list(_between("", _written(before or {"metadata": {}}), _written(after)))


def _written(item: Object) -> Object:
    meta = {name: item["metadata"][name] for name in SENT if item["metadata"].get(name)}
    return {name: value for name, value in item.items() if name not in LEFT_OUT} | {"metadata": meta}


def _between(path: str, before: object, after: object) -> Iterator[FieldDifference]:
    if before == after:
        return
    one, other = _keyed(before), _keyed(after)
    if one is None or other is None:
        yield FieldDifference(path, _value(before), _value(after))
        return
    names = [*one, *(name for name in other if name not in one)]
    for name in names:
        yield from _between(_below(path, name), one.get(name, ABSENT), other.get(name, ABSENT))


def _keyed(value: object) -> Mapping[str, object] | None:
    """The parts of a value by place: of a mapping its keys, of a list the names of its items; None: it is one."""
    if value is ABSENT:
        return {}
    if isinstance(value, dict) and value:
        return value
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        names = [each.get("name") for each in value]
        named = len(set(map(str, names))) == len(names) and None not in names
        return {f"[{name if named else at}]": each for at, (name, each) in enumerate(zip(names, value, strict=True))}
    return None


def _below(path: str, name: str) -> str:
    if name.startswith("["):
        return f"{path}{name}"
    return f'{path}["{name}"]' if "." in name or "/" in name else f"{path}.{name}".removeprefix(".")


def _value(value: object) -> object:
    return None if value is ABSENT else value


def _text(value: object) -> str:
    return "" if value is None else str(value)
