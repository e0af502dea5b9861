"""What an expression does that costs time, read off its text: loops within loops, comparisons, patterns."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""
      (?P<skip>  \s+ | //[^\n]* )
    | (?P<text>  [bB]?[rR][bB]? (?: \"{3}.*?\"{3} | '{3}.*?'{3} | "[^"\n]*" | '[^'\n]*' )
               | [bB]? (?: \"{3}(?:\\.|[^\\])*?\"{3} | '{3}(?:\\.|[^\\])*?'{3} )
               | [bB]? (?: "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' ) )
    | (?P<word>  [A-Za-z_]\w* )
    | (?P<number> \d[\w.]* )
    | (?P<sign>  [=!<>]= | && | \|\| | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_BUILDS = frozenset({"map", "transformList", "transformMap"})
_LOOPS = _BUILDS | {"all", "exists", "exists_one", "existsOne", "filter"}
"""The macros that loop, such as ``list.all(x, x > 0)``."""
_WALKS = frozenset({"==", "!=", "<=", ">=", "<", ">", "+", "in", "[", "{"})
"""What may look at, or copy, the whole of a value."""
_DEAR_PATTERN = re.compile(r"[{?]|\\[^.\-/\\]")
"""Repetitions, flags and classes of characters, which make the automaton of a pattern large."""
UNKNOWN = ""
"""Stands for the name of what a loop goes over where the text does not name it."""


@dataclass
class Shape:
    """What the text of an expression says about its cost."""

    tokens: int = 0
    depth: int = 0
    """How many loops are nested, at most."""
    nests: list[tuple[str, ...]] = field(default_factory=list)
    """For each loop, the names of the lists that it and those around it go over, outermost first."""
    loop_variables: set[str] = field(default_factory=set)
    maps: int = 0
    """Loops that build a list of new values."""
    filters: int = 0
    walks: int = 0
    """Operators and functions that may look at the whole of a value."""
    grows: bool = False
    """Whether lists or texts may be added to each other."""
    makes: bool = False
    """Whether it writes lists or maps of its own."""
    splits: bool = False
    """Whether it makes lists of texts."""
    plain_patterns: int = 0
    patterns: int = 0
    """Patterns that may be large."""


def shape_of(expression: str) -> Shape:
    """The shape of an expression; what is no expression has one, too."""
    tokens = list(_tokens(expression))
    shape = Shape(tokens=len(tokens))
    open_brackets: list[str | None] = []  # the name of the list if the bracket is that of a loop
    for place, (kind, word) in enumerate(tokens):
        before = tokens[place - 1] if place else ("", "")
        if kind == "sign" and word in "([{":
            loop = _receiver(tokens, place) if word == "(" and before[0] == "word" and before[1] in _LOOPS else None
            open_brackets.append(loop)
            if loop is not None:
                _add_loop(shape, before[1], tuple(each for each in open_brackets if each is not None))
                shape.loop_variables.update(name for kind, name in tokens[place + 1 : place + 2] if kind == "word")
        elif kind == "sign" and word in ")]}" and open_brackets:
            open_brackets.pop()
        _count(shape, tokens, place)
    return shape


def _tokens(expression: str) -> Iterator[tuple[str, str]]:
    for match in _TOKEN.finditer(expression):
        if (kind := match.lastgroup) and kind != "skip":
            yield kind, match.group()


def _receiver(tokens: list[tuple[str, str]], bracket: int) -> str:
    """The name of the list before ``.all(``; what is no plain name is unknown."""
    kind, name = tokens[bracket - 3] if bracket >= 3 else ("", "")
    return name if kind == "word" and tokens[bracket - 2][1] == "." else UNKNOWN


def _add_loop(shape: Shape, word: str, nest: tuple[str, ...]) -> None:
    shape.nests.append(nest)
    shape.depth = max(shape.depth, len(nest))
    shape.maps += word in _BUILDS
    shape.filters += word == "filter"


def _count(shape: Shape, tokens: list[tuple[str, str]], place: int) -> None:
    kind, word = tokens[place]
    before = tokens[place - 1] if place else ("", "")
    called = kind == "word" and tokens[place + 1 : place + 2] == [("sign", "(")]
    if called and word not in _LOOPS:
        shape.walks += 1
        shape.splits |= word == "split"
        if word == "matches":
            plain = _is_plain(tokens[place + 2 : place + 4])
            shape.plain_patterns, shape.patterns = shape.plain_patterns + plain, shape.patterns + (not plain)
    elif kind != "text" and word in _WALKS:
        shape.walks += 1
        shape.grows |= word == "+"
        indexes = word == "[" and (before[0] in ("word", "text") or before[1] in (")", "]", "}"))
        shape.makes |= word in "[{" and not indexes


def _is_plain(argument: list[tuple[str, str]]) -> bool:
    """Whether the argument of ``matches`` is a text whose pattern is small."""
    kinds = [kind for kind, _ in argument]
    return kinds == ["text", "sign"] and argument[1][1] == ")" and not _DEAR_PATTERN.search(argument[0][1])
