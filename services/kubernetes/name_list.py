"""A few of many names, for messages: the first ones and how many more there are, or those that were perhaps meant."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

MOST = 3
MOST_KNOWN = 25
"""Names that are listed where none is like the one that was asked for: all of the catalog."""
LIKE = 0.5
"""How like a name must be to be perhaps meant, from 0 to 1."""


def first_names(names: Sequence[str], separator: str = ", ", most: int = MOST) -> str:
    """``a, b, c and 2 more``."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{separator.join(names[:most])}{more}"


def nearest(word: str, known: Iterable[str]) -> str:
    """The names that were perhaps meant, for the end of a sentence; else the first of all, empty if there is none."""
    names = sorted(set(known))
    close = get_close_matches(word, names, cutoff=LIKE) or [name for name in names if word and word in name]
    if close:
        return f"did you mean {' or '.join(close[:MOST])}?"
    return f"known are {first_names(names, most=MOST_KNOWN)}" if names else ""
