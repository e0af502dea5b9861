"""An upper bound of the time that an expression takes, from its text and from the size of its variables.

The interpreter has no budget of its own and holds the process while it runs. Its speed was measured: 0.05 µs per token
and iteration, 0.03 µs per part of a value that is compared or copied, 1.6 µs per part that is converted from or to
Python, 48 ms for the largest pattern that it takes. `map` copies what it has built in every iteration.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf, prod

TOKEN, PART, CONVERTED, PLAIN_PATTERN, PATTERN = 0.1, 0.04, 1.6, 20.0, 50_000.0
"""Microseconds."""
AT_ONCE = 5_000.0
"""Microseconds that an expression may take in the caller, by the upper bound; such take a twentieth of it usually.

To have a process evaluate it takes 300 µs, most of them for the two switches.
"""
MOST_PARTS = int(AT_ONCE / CONVERTED / 2)
"""Parts of variables whose conversion alone takes as long."""
MOST_MAPS = 8
"""Loops that each may multiply the size of a value; more are not reckoned with."""
TEXT = 16
"""Characters of a text that count as one part."""
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


@dataclass
class Sizes:
    """The size of variables."""

    parts: int = 0
    """Values of all kinds, and pieces of texts."""
    longest: int = 1
    """Items of the longest list or mapping."""
    longest_text: int = 1
    by_name: dict[str, int] = field(default_factory=dict)
    """Items of the longest list or mapping by the key under which it lies."""


def measure(variables: Mapping[str, object], most: int = MOST_PARTS) -> Sizes | None:
    """The size of variables; None if they have more than so many parts."""
    sizes = Sizes()
    todo: list[tuple[str, object]] = [("", variables)]
    while todo and sizes.parts <= most:
        name, value = todo.pop()
        sizes.parts += 1
        if isinstance(value, Mapping):
            todo.extend((str(key), each) for key, each in value.items())
        elif isinstance(value, list | tuple):
            todo.extend(("", each) for each in value)
        elif isinstance(value, str | bytes):
            sizes.parts += len(value) // TEXT
            sizes.longest_text = max(sizes.longest_text, len(value))
        if isinstance(value, Mapping | list | tuple):
            sizes.longest = max(sizes.longest, len(value))
            sizes.by_name[name] = max(sizes.by_name.get(name, 0), len(value))
    return None if todo or sizes.parts > most else sizes


def microseconds(shape: Shape, sizes: Sizes) -> float:
    """How long the expression takes at most."""
    if shape.maps > MOST_MAPS:
        return inf
    longest = _longest(shape, sizes)
    rounds = max((prod(_length(name, shape, sizes, longest) for name in nest) for nest in shape.nests), default=1)
    value = float(sizes.parts * (shape.tokens if shape.makes or shape.grows else 1))
    value *= float(longest * shape.tokens) ** shape.maps
    walks = shape.walks + shape.maps + shape.filters
    patterns = shape.plain_patterns * PLAIN_PATTERN + shape.patterns * PATTERN
    run = rounds * (shape.tokens * TOKEN + walks * value * PART + patterns)
    return run + (sizes.parts + value) * CONVERTED


def estimated_microseconds(shape: Shape, sizes: Sizes) -> float:
    """How long the expression takes if what it compares is small and what it adds up are numbers.

    This is no bound, but near enough for rules of a CustomResourceDefinition, which loop over lists of the object.
    """
    rounds = max((prod(sizes.by_name.get(name, sizes.longest) for name in nest) for nest in shape.nests), default=1)
    copied = (shape.maps + shape.filters) * sizes.parts
    return rounds * (shape.tokens * TOKEN / 8 + copied * PART + shape.plain_patterns * PLAIN_PATTERN)


def _longest(shape: Shape, sizes: Sizes) -> int:
    """Items of the longest list that the expression can have or make."""
    known = max(sizes.longest, shape.tokens if shape.makes else 1, sizes.longest_text if shape.splits else 1)
    return int(known * shape.tokens ** (1 + shape.maps)) if shape.grows else known


def _length(name: str, shape: Shape, sizes: Sizes, longest: int) -> int:
    """Items of what a loop goes over; a name that the expression may have given itself says nothing."""
    own = shape.maps or shape.makes or shape.splits or name in shape.loop_variables
    known = longest if own or name == UNKNOWN else sizes.by_name.get(name, longest)
    return max(1, min(known, longest))
