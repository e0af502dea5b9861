"""An upper bound of the time that an expression takes, from its shape and from the size of its variables.

The interpreter has no budget of its own and holds the process while it runs. Its speed was measured: 0.05 µs per token
and iteration, 0.03 µs per part of a value that is compared or copied, 1.6 µs per part that is converted from or to
Python, 48 ms for the largest pattern that it takes. `map` copies what it has built in every iteration.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf, prod

from services.expressions.shape import UNKNOWN, Shape

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


def is_cheap(shapes: Iterable[Shape], sizes: Sizes | None) -> bool:
    """Whether the expressions together may be evaluated in the caller; sizes of None are larger than that."""
    return sizes is not None and sum(microseconds(each, sizes) for each in shapes) <= AT_ONCE


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


def _longest(shape: Shape, sizes: Sizes) -> int:
    """Items of the longest list that the expression can have or make."""
    known = max(sizes.longest, shape.tokens if shape.makes else 1, sizes.longest_text if shape.splits else 1)
    return int(known * shape.tokens ** (1 + shape.maps)) if shape.grows else known


def _length(name: str, shape: Shape, sizes: Sizes, longest: int) -> int:
    """Items of what a loop goes over; a name that the expression may have given itself says nothing."""
    own = shape.maps or shape.makes or shape.splits or name in shape.loop_variables
    known = longest if own or name == UNKNOWN else sizes.by_name.get(name, longest)
    return max(1, min(known, longest))
