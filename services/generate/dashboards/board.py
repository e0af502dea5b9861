"""A dashboard as data: what each panel asks Prometheus, in which unit it answers, and what for."""

from dataclasses import dataclass
from typing import Literal

Unit = Literal["short", "s", "reqps", "currencyUSD"]
"""As Grafana calls them."""


@dataclass(frozen=True)
class Query:
    """One question in PromQL."""

    expr: str
    legend: str
    """How a series is called: its labels in double braces."""
    examples: bool = False
    """Whether traces that show it are marked."""


@dataclass(frozen=True)
class Panel:
    """One picture over time."""

    title: str
    why: str
    """What it shows, and what to make of it."""
    unit: Unit
    queries: tuple[Query, ...]


@dataclass(frozen=True)
class Board:
    """One dashboard."""

    uid: str
    """Its place in Grafana, for ever."""
    title: str
    panels: tuple[Panel, ...]


def panel(title: str, why: str, unit: Unit, expr: str, legend: str) -> Panel:
    """One that asks one thing."""
    return Panel(title, why, unit, (Query(expr, legend),))


def quantiles(title: str, why: str, metric: str, by: str, *where: str) -> Panel:
    """One of a histogram of seconds: its median, and what one in a hundred exceeds."""
    rates = f"sum by (le, {by}) (rate({metric}_bucket{{{','.join(where)}}}[$__rate_interval]))".replace("{}", "")
    legend = " ".join(f"{{{{{label.strip()}}}}}" for label in by.split(","))
    told = ((0.5, "p50"), (0.99, "p99"))
    return Panel(
        title,
        why,
        "s",
        tuple(Query(f"histogram_quantile({part}, {rates})", f"{legend} {name}", examples=True) for part, name in told),
    )
