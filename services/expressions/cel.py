"""Evaluates CEL expressions and templates.

``common-expression-language`` (bindings to a Rust interpreter) compiles an expression once and evaluates it in
microseconds.
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from schemas.crds import InvalidResource
from services.expressions.cost import shape_of

CelValue = object
Variables = Any
"""The variables of expressions, as `bound` returns them."""

RenderTemplate = Callable[[Variables], CelValue]

DEEPEST = 3
"""Levels of nested loops that are accepted: each multiplies the cost."""
LONGEST = 4096
"""Characters of an expression; to compile so many takes some milliseconds at most."""
_MISTAKE = re.compile(r"ERROR: <input>:(\d+):(\d+): (?:Syntax error: )?(.*?)(?: expecting \{|\n|$)")
_ADVICE = re.compile(r"\n|[.](?= (?:Check|CEL|Convert) |$)")
_PLACE = re.compile(r"\$\{([^}]*)\}")
"""``${…}``; an expression in a text has no braces of its own."""


FAULTS = (ArithmeticError, LookupError, TypeError, ValueError, RuntimeError)
"""What the interpreter raises over an expression that has no value."""


def bound(named: Mapping[str, object], functions: Mapping[str, Callable[..., object]] | None = None) -> Variables:
    """The variables, converted once for all expressions, with functions besides those of the language."""
    import cel  # noqa: PLC0415 - as below

    try:
        context = cel.Context(variables=dict(named))
    except FAULTS:  # each expression reports what it cannot use
        return dict(named)
    for name, function in (functions or {}).items():
        context.add_function(name, function)
    return context


class NoValue(ValueError):
    """The expression has no value for this event; the message says why."""


class CelProgram:
    """An expression as the interpreter has it, however long and deep."""

    def __init__(self, text: str) -> None:
        """Raises ValueError, whose message is the first mistake with its line and column."""
        import cel  # noqa: PLC0415 - it loads a command line of its own, 13 MiB: only who has a rule pays for it

        self.shape = shape_of(text)
        """What it does that costs time."""
        try:
            self._program = cel.compile(text)
        except ValueError as error:
            raise ValueError(_syntax(str(error))) from error
        self.variables = frozenset(self._program.variables())
        """The names of the variables that it uses."""

    def execute(self, variables: Variables) -> CelValue:
        """The value. Raises `FAULTS`."""
        return self._program.execute(variables)


class CompiledExpression:
    """One compiled expression of a resource."""

    def __init__(self, text: str, where: str) -> None:
        """`where` is its path in the resource, for messages. Raises `InvalidResource`."""
        if len(text) > LONGEST:
            raise InvalidResource(f"{where} has {len(text)} characters: must have at most {LONGEST}")
        self._where = where
        try:
            self._program = CelProgram(text)
        except ValueError as error:
            raise InvalidResource(f"{where} is no CEL expression: {error}") from error
        self.shape, self.variables = self._program.shape, self._program.variables
        if self.shape.depth > DEEPEST:
            raise InvalidResource(
                f"{where} nests {self.shape.depth} loops (all, exists, map, filter): must nest at most {DEEPEST}"
            )

    def of(self, variables: Variables) -> CelValue:
        """The value of the expression. Raises NoValue."""
        try:
            return self._program.execute(variables)
        except FAULTS as error:
            raise NoValue(f"{self._where}: {_why(error)}") from error


def _syntax(message: str) -> str:
    """The first mistake, with its line and column."""
    if (found := _MISTAKE.search(message)) is None:
        return _line(message)
    line, column, mistake = found.groups()
    told = mistake.replace("'<EOF>'", "the end").replace("<EOF>", "the end")
    return f"line {line}, column {column}: {_line(told)}"


def _why(error: Exception) -> str:
    return f"there is no {_line(str(error))}" if isinstance(error, KeyError) else _line(str(error))


def _line(message: str) -> str:
    """What is wrong; advice follows it, and drawings of the place."""
    text = _ADVICE.split(message, maxsplit=1)[0]
    return text if len(text) <= 300 else f"{text[:299]}…"


class CompiledTemplate:
    """A text, list, mapping or other value; every ``${…}`` in its texts is replaced by the value of the expression."""

    def __init__(self, written: object, where: str) -> None:
        """Raises `InvalidResource` for an expression that cannot be read."""
        self._filled = _reader(written, where)

    def of(self, variables: Variables) -> CelValue:
        """The template with its values filled in. Raises NoValue."""
        return self._filled(variables)


def _reader(written: object, where: str) -> RenderTemplate:
    if isinstance(written, str):
        return _text(written, where)
    if isinstance(written, Mapping):
        named = {str(key): _reader(value, f"{where}.{key}") for key, value in written.items()}
        return lambda variables: {key: each(variables) for key, each in named.items()}
    if isinstance(written, list):
        listed = [_reader(value, f"{where}[{place}]") for place, value in enumerate(written)]
        return lambda variables: [each(variables) for each in listed]
    return lambda _: written


def _text(written: str, where: str) -> RenderTemplate:
    parts = _PLACE.split(written)  # texts and expressions by turns
    expressions = [CompiledExpression(part, where) for part in parts[1::2]]
    if len(expressions) == 1 and parts[0] == parts[2] == "":
        return expressions[0].of
    texts = parts[::2]

    def filled(variables: Variables) -> CelValue:
        values = [*(_written(each.of(variables), where) for each in expressions), ""]
        return "".join(text + value for text, value in zip(texts, values, strict=True))

    return filled


def _written(value: CelValue, where: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g}s"
    raise NoValue(f"{where}: {type(value).__name__} cannot stand in a text")
