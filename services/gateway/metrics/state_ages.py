"""Gauges of the entities in each state and the age of the oldest."""

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct

from schemas.entity import Lifecycle, State
from schemas.registry import declared
from schemas.teardown import Cleaning, Draining, Gone

COUNT = "alate.entities"
"""Entities that have not ended, by state."""
OLDEST = "alate.state.oldest"
"""When the oldest entity of a state entered it: seconds since 1970."""
LEFT = "alate.teardown.left"
"""Ends of which something may be left, by the step that was given up; each is known for some days."""
STEPS = tuple(declared(step).phase for step in (Draining, Cleaning))
"""Those that can be given up."""
StateLabels = tuple[tuple[str, str], ...]


def ages(lifecycle: Lifecycle, states: Iterable[State]) -> Mapping[str, dict[StateLabels, float]]:
    """The series of one kind of entity, by gauge; of a state in which there is none, only the count."""
    known = list(states)
    found = [state for state in known if not isinstance(state, lifecycle.terminal)]
    live = [kind for kind in lifecycle.states if kind not in lifecycle.terminal]
    counts = {_labels(lifecycle, kind): float(sum(type(each) is kind for each in found)) for kind in live}
    oldest: dict[StateLabels, float] = {}
    for each in found:
        labels, since = _labels(lifecycle, type(each)), each.since.timestamp()
        oldest[labels] = min(since, oldest.get(labels, since))
    return {COUNT: counts, OLDEST: oldest, LEFT: _left(lifecycle, known)}


def _left(lifecycle: Lifecycle, states: Iterable[State]) -> dict[StateLabels, float]:
    if Gone not in lifecycle.states:
        return {}
    counts = Counter(each.step for state in states if isinstance(state, Gone) for each in state.skipped)
    return {(("domain", lifecycle.domain), ("step", step)): float(counts[step]) for step in STEPS}


def _labels(lifecycle: Lifecycle, kind: type[Struct]) -> StateLabels:
    return (("domain", lifecycle.domain), ("state", declared(kind).event))
