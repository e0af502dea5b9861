"""What the comparison should come to, as a table."""

from collections.abc import Callable
from typing import NamedTuple

from tests.bench.kube.rivals import GATEWAY, OPERATOR, PUBLISHED

Rows = dict[str, dict[str, float]]


class Goal(NamedTuple):
    """A figure, and what it may be at most."""

    says: str
    figure: Callable[[Rows, Rows, Rows], float]
    at_most: float


def ratio(other: str, key: str) -> Callable[[Rows, Rows, Rows], float]:
    """The gateway's figure to another's."""
    return lambda rows, *_: rows[GATEWAY.name][key] / rows[other][key]


def founding(part: str, key: str) -> Callable[[Rows, Rows, Rows], float]:
    """Milliseconds."""
    return lambda _, rows, __: rows[part][key]


def slower(key: str) -> Callable[[Rows, Rows, Rows], float]:
    """How many times as long as a bare loop an add-on's objects take."""
    return lambda _, __, rows: rows["bare loop"][key] / rows["alate"][key]


GOALS = (
    Goal("alate ≤ 1.5 x watch, publish, patch at p50", ratio(PUBLISHED.name, "alone_p50_ms"), 1.5),
    Goal("alate ahead of kopf at p50", ratio(OPERATOR.name, "alone_p50_ms"), 1.0),
    Goal("Colony created → back-end object written ≤ 25 ms at p50", founding("written", "alone_p50_ms"), 25.0),
    Goal("back end ready → Colony ready ≤ 25 ms at p50", founding("ready", "alone_p50_ms"), 25.0),
    Goal("the former with 100 at once ≤ 300 ms at p50", founding("written", "at_once_p50_ms"), 300.0),
    Goal("an add-on's objects ≤ 2 x a bare loop of applies", slower("created_per_s"), 2.0),
    Goal("the latter with 100 at once ≤ 300 ms at p50", founding("ready", "at_once_p50_ms"), 300.0),
)


def judged(rows: Rows, foundings: Rows, applying: Rows) -> list[dict[str, object]]:
    """Every goal, with what it is and whether it is reached."""
    values = [(goal, goal.figure(rows, foundings, applying)) for goal in GOALS]
    return [{"goal": goal.says, "is": value, "reached": value <= goal.at_most} for goal, value in values]
