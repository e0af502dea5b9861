"""A figure is ours against a bare reference measured in the same run, so that a slow machine slows both."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

Measure = Callable[[], Awaitable[float]]
"""Does the work once; gives what it took."""


@dataclass(frozen=True)
class Goal:
    """What a figure should be: its `of` at least, or at most, `bound`."""

    of: Literal["ours", "ratio"]
    bound: float
    at_least: bool = False

    def __str__(self) -> str:
        times = "x" if self.of == "ratio" else ""
        return f"{'≥' if self.at_least else '≤'} {self.bound:g}{times}"

    def reached(self, ours: float, ratio: float) -> bool:
        """Whether it is so."""
        value = ratio if self.of == "ratio" else ours
        return value >= self.bound if self.at_least else value <= self.bound


@dataclass(frozen=True)
class Figure:
    """One line of the table."""

    name: str
    unit: str
    ours: float
    bare: float
    ratio: float
    """Ours to bare, the median over the pairs; that of the medians where there are no pairs."""
    goal: Goal | None = None

    @property
    def reached(self) -> bool | None:
        """Whether the goal is reached; None without one."""
        return self.goal.reached(self.ours, self.ratio) if self.goal else None

    def plain(self) -> dict[str, object]:
        """As it is written to the file."""
        shown = {"name": self.name, "unit": self.unit, "ours": self.ours, "bare": self.bare, "ratio": self.ratio}
        return shown | {"goal": str(self.goal) if self.goal else None, "reached": self.reached}


async def alternate(ours: Measure, bare: Measure, pairs: int) -> list[tuple[float, float]]:
    """A B A B …, after one of each that does not count: what disturbs the machine disturbs both."""
    taken = [(await ours(), await bare()) for _ in range(pairs + 1)]
    return taken[1:]


def of_pairs(name: str, unit: str, pairs: Sequence[tuple[float, float]], goal: Goal | None = None) -> Figure:
    """The medians of the pairs, and the median of their ratios."""
    ours, bare = zip(*pairs, strict=True)
    return Figure(name, unit, median(ours), median(bare), median(a / b for a, b in pairs), goal)


def quantile(values: Sequence[float], share: float) -> float:
    """The value that this share of the values does not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]
