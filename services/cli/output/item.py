"""What is shown is one JSON object each, and its times are told as ages."""

from datetime import UTC, datetime, timedelta

from services.queries.item import Item

__all__ = ["Item", "age"]


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
