"""What the inventory says in numbers and lists, a table says in a few characters."""

from datetime import datetime

from services.cli.output.item import Item, age


def troubles(item: Item) -> str:
    """What is not as it should be, in short."""
    return ", ".join(dict.fromkeys(trouble["reason"] for trouble in item.get("degraded", ())))


def gibibytes(size: int | None) -> str:
    """A size for people; empty if it is not known."""
    return "" if size is None else f"{size / 2**30:.1f} GiB"


def refused(item: Item, now: datetime) -> str:
    """The last refusal: ``NoCapacity 5m ago``, and how many times dearer the offer counts for it."""
    if not (hit := item.get("refusals")):
        return ""
    last = hit[-1]
    times = item["counts_times"]["spot" if last.get("spot") else "on_demand"]
    return f"{'spot ' if last.get('spot') else ''}{last['reason']} {age(last['at'], now)} ago (counts {times:.1f}x)"
