"""Add-ons are YAML that people paste, so what is wrong with it is said before a cluster is paid for."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import yaml
from pydantic import AfterValidator, Field

from schemas.documents import DEEPEST, TooDeep, documents

_NEEDED = (("apiVersion",), ("kind",), ("metadata", "name"))
_MOST_VALUES = 1_000_000


def _documents(text: str) -> list[Any]:
    """Every document that says something. Raises ValueError with the place of the first mistake."""
    try:
        return [document for document in documents(text) if document is not None]
    except TooDeep as error:
        raise ValueError(f"must be YAML that is nested at most {DEEPEST} deep") from error
    except yaml.MarkedYAMLError as error:
        place = f"line {error.problem_mark.line + 1}" if error.problem_mark else "some line"
        raise ValueError(f"must be YAML, but at {place}: {error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise ValueError(f"must be YAML, but has: {str(error).splitlines()[0]}") from error


def _values(value: object, counted: dict[int, float]) -> float:
    """How many values it takes to write this out, aliases unfolded; without end if it holds itself."""
    if not isinstance(value, Mapping | list):
        return 1
    if id(value) not in counted:
        counted[id(value)] = float("inf")
        inner: Iterable[object] = value.values() if isinstance(value, Mapping) else value
        counted[id(value)] = 1 + sum(_values(item, counted) for item in inner)
    return counted[id(value)]


def _has(document: object, path: tuple[str, ...]) -> bool:
    for part in path:
        if not isinstance(document, Mapping):
            return False
        document = document.get(part)
    return isinstance(document, str) and bool(document)


def objects(text: str) -> list[dict[str, Any]]:
    """The Kubernetes objects of an add-on, in the order they are written. Raises ValueError with what is wrong."""
    found = _documents(text)
    if not found:
        raise ValueError("must hold at least one Kubernetes object")
    if _values(found, {}) > _MOST_VALUES:
        raise ValueError(f"must be YAML of at most {_MOST_VALUES} values once its aliases are written out")
    for number, document in enumerate(found, 1):
        if lacking := [".".join(path) for path in _NEEDED if not _has(document, path)]:
            raise ValueError(f"must hold Kubernetes objects, but document {number} has no {', '.join(lacking)}")
    return found


def _refuse_incomplete(text: str) -> str:
    objects(text)
    return text


Manifests = Annotated[str, Field(min_length=1), AfterValidator(_refuse_incomplete)]
"""Kubernetes objects as YAML, one document each."""
