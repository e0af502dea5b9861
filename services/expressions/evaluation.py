"""Expressions as they are written, evaluated in the caller: the value as in JSON, or why there is none."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from math import isfinite
from typing import Any

from schemas.crds import InvalidResource
from services.expressions.cel import CelValue, CompiledExpression, NoValue, Variables, bound
from services.expressions.cost import AT_ONCE, is_cheap, measure

MARKS = ("{{", "{%")
"""What makes a text a template."""
CACHED = 4096
"""Compiled expressions that are kept, of some kB each."""


JsonValue = Any


@dataclass(frozen=True)
class Expression:
    """A CEL expression and its path in the resource, for messages."""

    text: str
    where: str


class FailureReason(StrEnum):
    """Why there is no value."""

    INVALID = "Invalid"
    """It cannot be compiled, and never will be as it is written."""
    NO_VALUE = "NoValue"
    """It has none for these variables."""
    TOO_COSTLY = "TooCostly"
    """It exceeds its budget."""


@dataclass(frozen=True)
class EvaluationFailure:
    """Why there is no value; `why` is one sentence that begins with the path."""

    reason: FailureReason
    why: str


@lru_cache(maxsize=CACHED)
def compiled(expression: Expression) -> CompiledExpression | EvaluationFailure:
    """The compiled expression."""
    try:
        return CompiledExpression(expression.text, expression.where)
    except InvalidResource as why:
        return EvaluationFailure(FailureReason.INVALID, str(why))


def evaluate_bound(expression: Expression, variables: Variables) -> JsonValue | EvaluationFailure:
    """The value as in JSON, whatever it costs; the variables are as `bound` returns them."""
    program = compiled(expression)
    if isinstance(program, EvaluationFailure):
        return program
    try:
        return json_value(program.of(variables), expression.where)
    except NoValue as why:
        return EvaluationFailure(FailureReason.NO_VALUE, str(why))


def evaluate_cheap(
    expressions: Sequence[Expression], variables: Mapping[str, object]
) -> tuple[JsonValue | EvaluationFailure, ...]:
    """The values, in the caller; one that may take long fails without being tried."""
    sizes, known = measure(variables), bound(variables)
    return tuple(
        evaluate_bound(each, known)
        if isinstance(program, EvaluationFailure) or is_cheap([program.shape], sizes)
        else EvaluationFailure(FailureReason.TOO_COSTLY, too_slow(each.where))
        for each, program in ((each, compiled(each)) for each in expressions)
    )


def too_slow(where: str) -> str:
    """Why an expression is refused that must be evaluated in the caller."""
    return f"{where} may take more than {AT_ONCE / 1000:g} ms for these variables: it loops or compares too much"


def json_value(value: CelValue, where: str) -> JsonValue:
    """The value as CEL writes it in JSON. Raises NoValue for one that has no such form."""
    match value:
        case None | bool() | str() | int():
            return value
        case float() if isfinite(value):
            return value
        case list():
            return [json_value(each, where) for each in value]
        case dict():
            return {str(key): json_value(each, where) for key, each in value.items()}
        case datetime() | timedelta() | bytes():
            return _text(value)
    raise NoValue(f"{where}: {type(value).__name__} {value} has no form in JSON")


def _text(value: datetime | timedelta | bytes) -> str:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return f"{value.total_seconds():.9f}".rstrip("0").rstrip(".") + "s"


def is_template(written: JsonValue) -> bool:
    """Whether anything in it is to be filled."""
    if isinstance(written, str):
        return any(mark in written for mark in MARKS)
    if isinstance(written, Mapping):
        return any(map(is_template, written.values()))
    return isinstance(written, list) and any(map(is_template, written))
