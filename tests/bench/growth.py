"""How cost grows with the number of clusters: the same work at several sizes, each held against the smallest."""

import os
from dataclasses import dataclass
from pathlib import Path

from tests.bench.figure import Figure, Goal

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Outcome:
    """What founding so many clusters came to."""

    clusters: int
    seconds: float
    """Wall time until the last one was Ready."""
    transitions: int
    cpu: dict[str, float]
    """Seconds of CPU time, by process: what the machine does beside is not in them."""
    memory: float
    """MiB resident, of all processes of ours."""


def figures(what: str, outcomes: list[Outcome], goals: dict[int, Goal]) -> list[Figure]:
    """What is bare is what the smallest size came to, in proportion: a ratio of 1 is growth along a line."""
    return [figure for each in outcomes for figure in _figures(what, each, outcomes[0], goals.get(each.clusters))]


def _figures(what: str, it: Outcome, least: Outcome, goal: Goal | None) -> list[Figure]:
    times = it.clusters / least.clusters

    def line(name: str, unit: str, values: tuple[float, float], goal: Goal | None = None) -> Figure:
        ours, bare = values
        return Figure(f"{it.clusters:,} {what}: {name}", unit, ours, bare, ours / bare if bare else 1.0, goal)

    return [
        line("until the last is Ready", "s", (it.seconds, least.seconds * times), goal),
        line("transitions", "1/s", (it.transitions / it.seconds, least.transitions / least.seconds)),
        line("memory", "MiB", (it.memory, least.memory * times)),
        line("CPU per cluster", "ms", (_work(it), _work(least))),
        *(line(f"CPU of {part} per cluster", "ms", (_work(it, part), _work(least, part))) for part in it.cpu),
    ]


def _work(it: Outcome, *parts: str) -> float:
    """Milliseconds of CPU time per cluster, of some processes or all."""
    return 1000 * sum(it.cpu[part] for part in parts or it.cpu) / it.clusters


def cpu(pid: int) -> float:
    """Seconds of CPU time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS
