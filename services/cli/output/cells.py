"""Values as a table's cells show them: ages, sizes, money, names, in a few characters each."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

from services.queries.item import Item

Cell = Callable[[Item, datetime], str]
"""Writes one cell of an item, at a time."""


def field(*path: str) -> Cell:
    """The value at a path, in one line; empty if it is missing."""

    def cell(item: Item, _: datetime) -> str:
        value: object = item
        for part in path:
            value = value.get(part) if isinstance(value, Mapping) else None
        return "" if value is None else " ".join(str(value).split())

    return cell


def since(*path: str) -> Cell:
    """The age of the time at a path."""
    read = field(*path)
    return lambda item, now: age(read(item, now), now)


def dollars(amount: float | None) -> str:
    """An amount of money; empty if it is unknown."""
    return "" if amount is None else f"{amount:.2f}"


def age(then: str | datetime | None, now: datetime) -> str:
    """How long ago, in one or two units: ``45s``, ``12m``, ``3h12m``, ``2d4h``."""
    if not then:
        return ""
    moment = datetime.fromisoformat(then) if isinstance(then, str) else then
    seconds = max(0, int((now - moment.astimezone(UTC)) / timedelta(seconds=1)))
    units = ((86_400, "d"), (3600, "h"), (60, "m"), (1, "s"))
    place = next((i for i, (size, _) in enumerate(units) if seconds >= size), 3)
    size, letter = units[place]
    rest = seconds % size // units[place + 1][0] if place < 2 else 0
    return f"{seconds // size}{letter}" + (f"{rest}{units[place + 1][1]}" if rest else "")


def troubles(item: Item, _: datetime) -> str:
    """The reasons why the inventory's figures are incomplete."""
    return ", ".join(dict.fromkeys(trouble["reason"] for trouble in item.get("degraded", ())))


def gibibytes(name: str) -> Cell:
    """A number of bytes in GiB; empty if it is unknown."""
    return lambda item, _: "" if item.get(name) is None else f"{item[name] / 2**30:.1f} GiB"


def refused(item: Item, now: datetime) -> str:
    """An offer's last refusal: ``NoCapacity 5m ago``, and by how much its price is weighted for it."""
    if not (refusals := item.get("refusals")):
        return ""
    last = refusals[-1]
    times = item["countsTimes"]["spot" if last.get("spot") else "onDemand"]
    return f"{'spot ' if last.get('spot') else ''}{last['reason']} {age(last['at'], now)} ago (counts {times:.1f}x)"
