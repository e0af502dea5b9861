"""The language of templates: Jinja in its sandbox, without what is random, with places instead of line numbers."""

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec
import yaml
from jinja2 import StrictUndefined, TemplateSyntaxError, Undefined, nodes
from jinja2.lexer import TokenStream
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from services.expressions.evaluation import PlainValue

_RANDOM = ("lipsum", "random")
_REFUSED = (nodes.Extends, nodes.Include, nodes.Import, nodes.FromImport, nodes.Block)
_VERSION = frozenset({"major", "minor", "patch", "text"})


def _to_json(value: object) -> str:
    return msgspec.json.encode(plain(value)).decode()


def _to_yaml(value: object) -> str:
    return str(yaml.safe_dump(plain(value), sort_keys=False, allow_unicode=True)).removesuffix("...\n").rstrip("\n")


FILTERS: Mapping[str, Callable[[Any], str]] = {
    "to_json": _to_json,
    "tojson": _to_json,
    "to_yaml": _to_yaml,
    "b64encode": lambda value: b64encode(str(value).encode()).decode(),
    "b64decode": lambda value: b64decode(str(value), validate=True).decode(),
}


class _Missing(StrictUndefined):
    """What a template asks for and is not there."""

    @property
    def _undefined_message(self) -> str:
        return self._undefined_hint or f"there is no {self._undefined_name!r}"


class _Environment(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, whose line numbers are places in the text: their count of characters, from 1."""

    def _tokenize(
        self, source: str, name: str | None, filename: str | None = None, state: str | None = None
    ) -> TokenStream:
        placed = self._placed(source, self.lexer.tokeniter(source, name, filename, state))
        return TokenStream(self.lexer.wrap(placed, name, filename), name, filename)

    def getattr(self, obj: Any, attribute: str) -> Any:  # noqa: ANN401 - as Jinja has it
        """A key of a mapping before its methods: `values` may be one."""
        if isinstance(obj, Mapping) and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)

    @staticmethod
    def _placed(source: str, tokens: Iterable[tuple[int, str, str]]) -> Iterator[tuple[int, str, str]]:
        """Tokens in their order, of which only white space may be left out."""
        place = 0
        try:
            for _, kind, text in tokens:
                place = max(place, source.find(text, place))
                yield place + 1, kind, text
                place += len(text)
        except TemplateSyntaxError as error:
            error.lineno = place + 1
            raise


def _environment() -> _Environment:
    environment = _Environment(
        undefined=_Missing, finalize=_written, keep_trailing_newline=True, trim_blocks=True, lstrip_blocks=True,
        comment_start_string="{{#", comment_end_string="#}}",
    )  # fmt: skip
    environment.filters.update(FILTERS)
    for name in _RANDOM:
        environment.filters.pop(name, None)
        environment.globals.pop(name, None)
    return environment


def _written(value: object) -> object:
    """A value as it stands in a text."""
    if value is None or isinstance(value, bool):
        return _to_json(value)
    if isinstance(value, Mapping):
        return value["text"] if value.keys() == _VERSION else _to_json(value)
    return value if isinstance(value, str | int | float | Undefined) else _to_json(value)


def plain(value: object) -> PlainValue:
    """The value as in JSON. Raises TypeError, or what the value raises itself."""
    match value:
        case Undefined():
            return str(value)  # raises
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {str(key): plain(each) for key, each in value.items()}
        case Iterable():
            return [plain(each) for each in value]
    raise TypeError(f"a {type(value).__name__} cannot be written")


ENVIRONMENT = _environment()
"""Shared by all templates, which keep nothing in it."""


def parsed(text: str) -> nodes.Template:
    """The syntax tree of a template that reads no other. Raises TemplateSyntaxError."""
    tree = Parser(ENVIRONMENT, text).parse()
    for node in tree.find_all(_REFUSED):
        raise TemplateSyntaxError(f"{type(node).__name__.lower()} is refused: a template reads no other", node.lineno)
    return tree
