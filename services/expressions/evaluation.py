"""Expressions as they are written, evaluated in the caller: the value as in JSON, or why there is none."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property, lru_cache
from math import inf, isfinite
from typing import Any

import msgspec

from schemas.crds import InvalidResource
from services.expressions.cel import CelValue, CompiledExpression, NoValue, Variables, bound
from services.expressions.cost import AT_ONCE, measure, microseconds

MARKS = ("{{", "{%")
"""What makes a text a template."""
LONGEST_SHOWN = 60
"""Characters of a value within a sentence."""
CACHED = 4096
"""Compiled expressions that are kept, of some kB each."""


PlainValue = Any


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
    UNKNOWN = "Unknown"
    """What it is about is not known yet."""


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


def evaluate_bound(expression: Expression, variables: Variables) -> PlainValue | EvaluationFailure:
    """The value as in JSON, whatever it costs; the variables are as `bound` returns them."""
    program = compiled(expression)
    if isinstance(program, EvaluationFailure):
        return program
    try:
        return json_value(program.of(variables), expression.where)
    except NoValue as why:
        return EvaluationFailure(FailureReason.NO_VALUE, str(why))


class KnownVariables:
    """Variables as in JSON, measured and converted once for all expressions over them."""

    def __init__(self, variables: Mapping[str, object]) -> None:
        self._variables = variables
        self._sizes = measure(variables)

    @cached_property
    def bound(self) -> Variables:
        """As expressions take them."""
        return bound(self._variables)

    @cached_property
    def encoded(self) -> msgspec.Raw:
        """As a process takes them."""
        return msgspec.Raw(msgspec.msgpack.encode(self._variables))

    def microseconds(self, expression: Expression) -> float:
        """How long an expression over them takes at most."""
        if isinstance(program := compiled(expression), EvaluationFailure):
            return 0.0
        return inf if self._sizes is None else microseconds(program.shape, self._sizes)


def evaluate_cheap(expression: Expression, known: KnownVariables) -> PlainValue | EvaluationFailure:
    """The value, in the caller; an expression that may take long fails without being tried."""
    if known.microseconds(expression) <= AT_ONCE:
        return evaluate_bound(expression, known.bound)
    return EvaluationFailure(FailureReason.TOO_COSTLY, too_slow(expression.where))


def evaluate_condition(expression: Expression, known: KnownVariables) -> bool | EvaluationFailure:
    """As `evaluate_cheap`, for what must be true or false."""
    return condition(expression, evaluate_cheap(expression, known))


def condition(expression: Expression, value: PlainValue | EvaluationFailure) -> bool | EvaluationFailure:
    """The value of an expression that must give true or false, or why it does not."""
    if isinstance(value, bool | EvaluationFailure):
        return value
    why = f"{expression.where} gives {shown(value)}: must give true or false"
    return EvaluationFailure(FailureReason.NO_VALUE, why)


def shown(value: PlainValue) -> str:
    """A value within a sentence."""
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…"


def too_slow(where: str) -> str:
    """Why an expression is refused that must be evaluated in the caller."""
    return f"{where} may take more than {AT_ONCE / 1000:g} ms for these variables: it loops or compares too much"


def json_value(value: CelValue, where: str) -> PlainValue:
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


def is_template(written: PlainValue) -> bool:
    """Whether anything in it is to be filled."""
    if isinstance(written, str):
        return any(mark in written for mark in MARKS)
    if isinstance(written, Mapping):
        return any(map(is_template, written.values()))
    return isinstance(written, list) and any(map(is_template, written))
