"""Any column that is shown can be sorted by, numbers as numbers."""

from collections.abc import Iterable
from datetime import UTC, datetime

from services.cli.get.kinds import Kind
from services.cli.output.item import Item
from services.errors import BadInput


def sort(kind: Kind, items: Iterable[Item], column: str | None) -> list[Item]:
    """The items by a column (``-COLUMN``: the largest first), or as they come. Raises BadInput."""
    if column is None:
        return list(items)
    title = column.lstrip("-").upper()
    if title not in kind.columns:
        raise BadInput(f"--sort {column}: there is no such column, expected one of {', '.join(kind.columns)}")
    cell, now = kind.columns[title], datetime.now(UTC)
    return sorted(items, key=lambda item: _order(cell(item, now)), reverse=column.startswith("-"))


def _order(text: str) -> tuple[bool, float, str]:
    try:
        return False, float(text.split(maxsplit=1)[0]), text
    except (ValueError, IndexError):
        return True, 0.0, text
