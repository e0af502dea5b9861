"""The first three of many names, and how many more there are, for messages of inventory and teardown."""

from collections.abc import Sequence

MOST = 3


def first_names(names: Sequence[str], separator: str = ", ") -> str:
    """``a, b, c and 2 more``."""
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return f"{separator.join(names[:MOST])}{more}"
