"""What a life must pass in its order, whatever else happens between."""

from collections.abc import Iterable


def missing(wanted: Iterable[str], reached: Iterable[str]) -> str | None:
    """The first milestone that does not follow the ones before it; None if all do."""
    rest = iter(reached)
    return next((each for each in wanted if each not in rest), None)
