"""Fields of an add-on's objects that others may change, named by JSON pointers."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from events.kube.client import Object

ANY = "*"
"""A part of a pointer that stands for every element of a list and every key of a map."""


class Ignore(NamedTuple):
    """Fields that others may change, of objects of a kind and name; empty: of all."""

    paths: tuple[str, ...]
    """JSON pointers; ``*`` stands for every element and every key."""
    kind: str = ""
    name: str = ""

    def concerns(self, seen: Object) -> bool:
        """Whether it is about this object."""
        return self.kind in ("", seen["kind"]) and self.name in ("", seen["metadata"]["name"])


def parts(pointer: str) -> tuple[str, ...]:
    """The names that a JSON pointer leads through."""
    return tuple(each.replace("~1", "/").replace("~0", "~") for each in pointer.split("/")[1:])


def pointer(names: Iterable[str]) -> str:
    """The JSON pointer that leads through these names."""
    return "".join("/" + each.replace("~", "~0").replace("/", "~1") for each in names)


def is_ignored(seen: Object, path: Sequence[str], ignore: Iterable[Ignore]) -> bool:
    """Whether others may change a field of the object, or something that it lies in."""
    return any(_covers(parts(each), path) for one in ignore if one.concerns(seen) for each in one.paths)


def _covers(ignored: Sequence[str], path: Sequence[str]) -> bool:
    return len(ignored) <= len(path) and all(a in (ANY, b) for a, b in zip(ignored, path, strict=False))


def yielding(config: Object, seen: Object, ignore: Iterable[Ignore]) -> Object:
    """The configuration with every ignored field as the object has it now: an apply leaves it alone, and owns it.

    Left out instead, a field that nobody else owns would be removed.
    """
    paths = [parts(each) for one in ignore if one.concerns(config) for each in one.paths]
    if not paths:
        return config
    changed: Object = msgspec.json.decode(msgspec.json.encode(config))  # aliases of YAML become objects of their own
    for path in paths:
        _take(changed, seen, path)
    return changed


def _take(into: Any, seen: Any, path: Sequence[str]) -> None:  # noqa: ANN401 - any JSON
    name, rest = path[0], path[1:]
    for key in _keys(into, name):
        there = _at(seen, key)
        if rest:
            _take(into[key], there, rest)
        elif there is not None:
            into[key] = there
        elif isinstance(into, dict):
            del into[key]


def _keys(into: Any, name: str) -> list[Any]:  # noqa: ANN401 - any JSON
    """The keys of `into` that a part of a pointer stands for."""
    if isinstance(into, dict):
        return list(into) if name == ANY else [name] * (name in into)
    if isinstance(into, list):
        return [at for at in range(len(into)) if name in (ANY, str(at))]
    return []


def _at(seen: Any, key: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(seen, dict):
        return seen.get(key)
    return seen[key] if isinstance(seen, list) and isinstance(key, int) and key < len(seen) else None
