"""Reads the words of a command line as texts, numbers, paths and choices; Typer would load pydantic for each."""

import os
from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin

if TYPE_CHECKING:
    from typer._click.core import Parameter
    from typer._coercion import RuntimeParam

NUMBERS = (int, float)
LONGEST = 15
"""Digits of a number that is read here."""


class QuickValue:
    """Reads the value of one option or argument; what it cannot read, Typer reads, or says what is wrong with it."""

    def __init__(self, annotation: object, by_typer: Callable[[], "RuntimeParam"]) -> None:
        """`annotation` is the type that the command declares."""
        self._many = get_origin(annotation) is list
        self._type = get_args(annotation)[0] if self._many else annotation
        self._by_typer = by_typer

    def coerce(self, value: object, **place: Any) -> object:  # noqa: ANN401 - `param` and `ctx` of Typer, for an error
        """The value as the command takes it. Raises BadParameter."""
        if value is None:
            return () if self._many else None
        read = _several(value, self._type) if self._many else _single(value, self._type)
        return self._by_typer().coerce(value, **place) if read is None else read


def read_quickly(params: Iterable["Parameter"]) -> None:
    """Let the options and arguments of a command be read so."""
    for each in params:
        described = each.type_descriptor  # type: ignore[attr-defined]
        if not described.is_ranged and "get_runtime_param" not in vars(each):
            quick = QuickValue(described.annotation, each.get_runtime_param)  # type: ignore[attr-defined]
            each.get_runtime_param = lambda quick=quick: quick  # type: ignore[attr-defined]


def _several(value: object, kind: object) -> list[object] | None:
    """None: Typer reads it."""
    if not isinstance(value, list | tuple):
        return None
    read = [_single(each, kind) for each in value]
    return None if None in read else read


def _single(value: object, kind: object) -> object:
    """None: Typer reads it."""
    if not isinstance(kind, type):
        return None
    if isinstance(value, kind):
        return value
    if not isinstance(value, str):
        return None
    if issubclass(kind, Enum):
        return next((each for each in kind if each.value == value), None)
    if kind is Path:
        return Path(value) if os.access(value, os.R_OK) else None
    digits = value if kind is int else value.replace(".", "", 1)
    return kind(value) if kind in NUMBERS and _is_number(digits) else None


def _is_number(digits: str) -> bool:
    return digits.isascii() and digits.isdecimal() and len(digits) <= LONGEST
