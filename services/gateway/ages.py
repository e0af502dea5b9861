"""How many entities stand in each state, and since when the oldest of them, is told to whoever scrapes."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from schemas.entity import State
from schemas.lifecycle import Lifecycle
from schemas.registry import declared

COUNT = "alate.entities"
"""Entities that have not ended, by state."""
OLDEST = "alate.state.oldest"
"""When the oldest entity of a state entered it: seconds since 1970."""
Labels = tuple[tuple[str, str], ...]


def ages(lifecycle: Lifecycle, states: Iterable[State]) -> Mapping[str, dict[Labels, float]]:
    """The series of one kind of entity, by gauge; of a state in which there is none, only the count."""
    found = [state for state in states if not isinstance(state, lifecycle.terminal)]
    live = [kind for kind in lifecycle.states if kind not in lifecycle.terminal]
    counts = {_labels(lifecycle, kind): float(sum(type(each) is kind for each in found)) for kind in live}
    oldest: dict[Labels, float] = {}
    for each in found:
        labels, since = _labels(lifecycle, type(each)), each.since.timestamp()
        oldest[labels] = min(since, oldest.get(labels, since))
    return {COUNT: counts, OLDEST: oldest}


def _labels(lifecycle: Lifecycle, kind: type[Struct]) -> Labels:
    return (("domain", lifecycle.domain), ("state", declared(kind).event))
