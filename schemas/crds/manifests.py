"""Reads and checks the manifests of add-ons, so that mistakes show before a cluster is paid for."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from schemas.documents import LARGEST, InvalidYaml, documents

_NEEDED = (("apiVersion",), ("kind",), ("metadata", "name"))
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SHAPES = {
    ("apiVersion",): rf"({_LABEL}([.]{_LABEL})*/)?{_LABEL}",
    ("kind",): "[A-Za-z][A-Za-z0-9]*",
    ("metadata", "name"): r"(?![.]{1,2}$)[^/%\x00-\x1f\x7f]{1,253}",
    ("metadata", "namespace"): rf"(?=.{{1,63}}$){_LABEL}",
}
"""What a request for the object has in its path: by Kubernetes' rules, so that none leads to another object."""
_TEXTS = (("metadata", "labels"), ("metadata", "annotations"))
"""Mappings from text to text."""


def _documents(text: str, largest: int) -> list[Any]:
    """Every document that says something, as JSON has it. Raises ValueError with the place of the first mistake."""
    try:
        return [_json(document) for document in documents(text, largest) if document is not None]
    except InvalidYaml as error:
        raise ValueError(f"must be YAML, but {error}") from error


def _json(document: object) -> Any:  # noqa: ANN401 - whatever somebody wrote
    """As it is sent: keys are texts, and so are dates."""
    try:
        return msgspec.json.decode(msgspec.json.encode(document))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ValueError(f"must be YAML that JSON can say as well, but has: {error}") from error


def _expanded(document: Any) -> list[Any]:  # noqa: ANN401 - whatever somebody wrote
    """The items of a list of objects, such as ``kind: List``; anything else is one."""
    if not isinstance(document, dict) or not str(document.get("kind", "")).endswith("List"):
        return [document]
    items = document.get("items")
    return items if isinstance(items, list) and not _has(document, ("metadata", "name")) else [document]


def _has(document: object, path: tuple[str, ...]) -> bool:
    for part in path:
        if not isinstance(document, Mapping):
            return False
        document = document.get(part)
    return isinstance(document, str) and bool(document)


def objects(text: str) -> list[dict[str, Any]]:
    """The Kubernetes objects of an add-on, in the order they are written. Raises ValueError with what is wrong."""
    found = parsed(text)
    if not found:
        raise ValueError("must hold at least one Kubernetes object")
    return found


def parsed(text: str, largest: int = LARGEST) -> list[dict[str, Any]]:
    """The Kubernetes objects of a text of so many characters, none as well. Raises ValueError with what is wrong."""
    return checked(_documents(text, largest))


def checked(documents: list[Any]) -> list[dict[str, Any]]:
    """The same, lists of objects written out. Raises ValueError if one is no Kubernetes object."""
    found = [each for document in documents for each in _expanded(document)]
    for number, document in enumerate(found, 1):
        if lacking := [".".join(path) for path in _NEEDED if not _has(document, path)]:
            raise ValueError(f"must hold Kubernetes objects, but document {number} has no {', '.join(lacking)}")
        if wrong := next(_misshapen(document), ""):
            raise ValueError(f"must hold Kubernetes objects, but document {number} has {wrong}")
    return found


def _at(document: dict[str, Any], path: tuple[str, ...]) -> object:
    return document.get(path[0]) if len(path) == 1 else document[path[0]].get(path[1])


def _misshapen(document: dict[str, Any]) -> Iterator[str]:
    """What cannot be asked for as it is written."""
    for path, shape in _SHAPES.items():
        value = _at(document, path)
        if value is not None and not (isinstance(value, str) and value.isprintable() and re.fullmatch(shape, value)):
            yield f"the {'.'.join(path)} {value!r:.80}, which Kubernetes does not take"
    for path in _TEXTS:
        value = _at(document, path)
        texts = value.values() if isinstance(value, dict) else [None]
        if value is not None and not all(isinstance(each, str) for each in texts):
            yield f"{'.'.join(path)} that are no mapping from text to text"
