"""Templates of manifests and values: Jinja in its sandbox, strict, with line and column in what goes wrong.

`{{ … }}` is replaced by a value, `{% if … %}`, `{% for … %}` and `{% set … %}` choose and repeat, `{{# … #}}` is a
comment and `{% raw %}` keeps what other programs write in the same way. A line that has only a statement leaves none.
In a text true, false and null are written as YAML has them, lists and mappings as JSON. The functions are Jinja's, but
nothing is random and no other template is read; `to_json`, `to_yaml`, `b64encode` and `b64decode` are added.

| variable | value |
|---|---|
| `cluster.name`, `cluster.namespace` | its name `<Colony>-<cluster>`, and its namespace |
| `cluster.colony` | the Colony; empty for a cluster of none |
| `cluster.labels`, `cluster.annotations` | mappings: `cluster.labels["example.com/team"]` |
| `cluster.version` | `major`, `minor`, `patch` (numbers) and `text`, which it also is within a text: 1.33.2 |
| `cluster.cloud`, `cluster.region`, `cluster.offer` | where it runs, and what it runs on |
| `cluster.accelerators` | a list of `model` and `count` |
| `cluster.nodes` | how many nodes it has |
| `cluster.endpoint` | the URL of its API server |
| `objects.<as>` | each object that the profile names, as it is in its cluster |

A template is neither bounded in time nor in memory here: `Evaluators` fills it in a process that is.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType

from jinja2 import TemplateSyntaxError, nodes
from jinja2.runtime import Context

from schemas.crds import InvalidResource
from services.expressions.cel import NoValue
from services.expressions.evaluation import PlainValue, is_template
from services.expressions.jinja import ENVIRONMENT, parsed, plain

LARGEST_TEMPLATE = 262_144
"""Characters of a template: a Colony has no more. To compile so many takes a quarter of a second."""
LARGEST_OUTPUT = 1_000_000
"""Characters of what a template becomes."""
_FILE = "<template>"
_LONE = "lone"
_AT = re.compile(r" at \d+$")

FillValue = Callable[[Mapping[str, object]], PlainValue]


class _Program:
    """One compiled text."""

    def __init__(self, text: str, where: str, *, typed: bool) -> None:
        """`typed`: what is only one expression keeps the type of its value. Raises InvalidResource."""
        self._text, self._where = text.replace("\r\n", "\n").replace("\r", "\n"), where
        try:
            tree = parsed(self._text)
            self._lone = _make_lone(tree) if typed else 0
            code = ENVIRONMENT.compile(tree, filename=_FILE)
        except TemplateSyntaxError as error:
            raise InvalidResource(self._at(error.lineno, _syntax(error, self._text))) from error
        except (RecursionError, ValueError, OverflowError, SyntaxError) as error:
            raise InvalidResource(f"{where} is no template: it is nested too deep or has too large a value") from error
        self._template = ENVIRONMENT.template_class.from_code(ENVIRONMENT, code, dict(ENVIRONMENT.globals))

    def fill(self, variables: Mapping[str, object]) -> PlainValue:
        """What it becomes. Raises NoValue."""
        context = self._template.new_context(dict(variables))
        pieces, size = [], 0
        for piece in self._run(context):
            pieces.append(piece)
            size += len(piece)
            if size > LARGEST_OUTPUT:
                raise NoValue(f"{self._where} becomes longer than {LARGEST_OUTPUT} characters")
        return self._value(context) if self._lone else "".join(pieces)

    def _value(self, context: Context) -> PlainValue:
        try:
            return plain(context.vars[_LONE])
        except MemoryError:
            raise
        except Exception as error:  # what stands in it may raise what Python can
            raise NoValue(self._at(self._lone, _why(error))) from error

    def _run(self, context: Context) -> Iterator[str]:
        try:
            yield from self._template.root_render_func(context)
        except MemoryError:
            raise
        except Exception as error:  # a template may raise what Python can
            raise NoValue(self._at(self._place(error.__traceback__), _why(error))) from error

    def _place(self, trace: TracebackType | None) -> int:
        """The place of the innermost part of the template that was at work."""
        line = 0
        while trace is not None:
            line = trace.tb_lineno if trace.tb_frame.f_code.co_filename == _FILE else line
            trace = trace.tb_next
        return self._template.get_corresponding_lineno(line)

    def _at(self, place: int, why: str) -> str:
        before = self._text[: place - 1]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        return f"{self._where}: line {line}, column {column}: {why}"


def _make_lone(tree: nodes.Template) -> int:
    """Have what is only one expression keep its value; returns its place, 0 if it is more."""
    match tree.body:
        case [nodes.Output(nodes=[value])] if not isinstance(value, nodes.TemplateData):
            name = nodes.Name(_LONE, "store", lineno=value.lineno)
            tree.body = [nodes.Assign(name, value, lineno=value.lineno)]
            tree.set_environment(ENVIRONMENT)
            return value.lineno
    return 0


def _syntax(error: TemplateSyntaxError, text: str) -> str:
    why = _AT.sub("", _line(error.message or "it is no template"))
    shown = text[error.lineno - 1 : error.lineno]
    return f"{why}: write what is not for alate within {{% raw %}} and {{% endraw %}}" if shown in ("$", ".") else why


def _why(error: Exception) -> str:
    return "it is nested too deep" if isinstance(error, RecursionError) else _line(str(error) or type(error).__name__)


def _line(message: str) -> str:
    text = " ".join(message.split()).rstrip(".").replace(". ", ": ")
    return text if len(text) <= 300 else f"{text[:299]}…"


class TextTemplate:
    """A text, such as manifests."""

    def __init__(self, text: str, where: str) -> None:
        """`where` is its path in the resource, for messages. Raises InvalidResource."""
        _check_size(len(text), where)
        self._program = _Program(text, where, typed=False)

    def fill(self, variables: Mapping[str, object]) -> str:
        """The text with its values. Raises NoValue."""
        return str(self._program.fill(variables))


class ValueTemplate:
    """A value as in JSON, with templates in its texts; a text that is only one `{{ … }}` keeps the value's type."""

    def __init__(self, written: PlainValue, where: str) -> None:
        """Raises InvalidResource."""
        self._size = 0
        self._fill = self._read(written, where)
        _check_size(self._size, where)

    def fill(self, variables: Mapping[str, object]) -> PlainValue:
        """The value with the templates filled in. Raises NoValue."""
        return self._fill(variables)

    def _read(self, written: PlainValue, where: str) -> FillValue:
        if isinstance(written, str) and is_template(written):
            _check_size(len(written), where)
            self._size += len(written)
            return _Program(written, where, typed=True).fill
        if isinstance(written, Mapping):
            named = {str(key): self._read(each, f"{where}.{key}") for key, each in written.items()}
            return lambda variables: {key: each(variables) for key, each in named.items()}
        if isinstance(written, list):
            listed = [self._read(each, f"{where}[{place}]") for place, each in enumerate(written)]
            return lambda variables: [each(variables) for each in listed]
        return lambda _: written


def _check_size(size: int, where: str) -> None:
    if size > LARGEST_TEMPLATE:
        raise InvalidResource(f"{where} has {size} characters: a template must have at most {LARGEST_TEMPLATE}")
