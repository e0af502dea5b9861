"""What befalls clusters, drawn by a seed; and the shortest part of it that still goes wrong."""

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from schemas.wish import OnRelease

CLUSTERS = ("train-a", "train-b", "infer-a")
THEIRS = {"theirs-1": OnRelease.KEEP, "theirs-2": OnRelease.KEEP, "theirs-3": OnRelease.DELETE}
"""What others made, and what every Colony that takes it in says of its end."""
WEIGHTS = {
    "ask": 6, "amend": 2, "resize": 3, "widen": 2, "doze": 2, "rise": 2, "end": 6, "force": 1, "limit": 2, "vanish": 2,
    "shrink": 2, "grow": 2,
    "work": 12, "pay": 7, "haunt": 1, "fit": 3, "unfit": 2,
    "deaden": 3, "revive": 1, "flaky": 1, "guard": 1, "key": 3,
    "queue": 3, "lull": 2,
    "adopt": 3, "unmake": 1, "remake": 1, "strip": 1,
    "repeat": 4, "die": 4, "outage": 3, "uninstall": 1, "market": 2, "full": 2, "pass": 5,
}  # fmt: skip
PAUSES = (0.0, 0.01, 0.5, 3.0, 20.0, 90.0, 700.0, 2000.0)


class Step(NamedTuple):
    """One thing that happens, then so many seconds that pass."""

    what: str
    who: str
    pause: float
    dice: int


History = tuple[Step, ...]


def drawn(seed: int) -> History:
    """The history of a seed."""
    dice = Random(seed)
    number = dice.randint(3, 30)
    whats = dice.choices(tuple(WEIGHTS), tuple(WEIGHTS.values()), k=number)
    steps = (Step(what, dice.choice(CLUSTERS), dice.choice(PAUSES), dice.randrange(10_000)) for what in whats)
    return (Step("ask", CLUSTERS[0], 1.0, 0), *steps)


def shortest(history: History, fails: Callable[[History], bool]) -> History:
    """The history without every step that is not needed to fail."""
    size = (len(history) + 1) // 2
    while size:
        for start in range(0, len(history), size):
            less = history[:start] + history[start + size :]
            if len(less) < len(history) and fails(less):
                history, size = less, min(size, len(less)) + 1
                break
        size = size // 2 if size <= len(history) else (len(history) + 1) // 2
    return history
