"""Writes items as a table for people, or as JSON, YAML or names for programs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

import msgspec

from services.cli.output import cells
from services.cli.output.cells import Cell
from services.cli.output.colours import painted
from services.errors import BadInput
from services.queries.item import Item

Form = Literal["table", "wide", "json", "yaml", "name"]
TextWriter = Callable[[str], object]
GAP = "   "
LONGEST = 160
"""Characters of a message in a table."""
FOR_PEOPLE = ("table", "wide")


@dataclass(frozen=True)
class Columns:
    """The columns of a table, and how its items are named."""

    columns: Mapping[str, Cell]
    wide: Mapping[str, Cell] = field(default_factory=dict)
    """Further ones with ``-o wide``."""
    name: Callable[[Item], str] = lambda item: str(item["name"])
    """What ``-o name`` writes: as other commands take it for an argument."""

    def shown(self, form: Form, *, namespaces: bool = False) -> dict[str, Cell]:
        """Those that a form has, with the namespace first where several are shown."""
        first = {"NAMESPACE": _namespace} if namespaces else {}
        return {**first, **self.columns, **(self.wide if form == "wide" else {})}


def _namespace(item: Item, now: datetime) -> str:
    return cells.field("namespace")(item, now) or cells.field("metadata", "namespace")(item, now)


class Printer:
    """Writes items of one kind: `all` that exist first, then `one` for each change."""

    def __init__(
        self, columns: Columns, form: Form, write: TextWriter, *, coloured: bool = False, namespaces: bool = False
    ) -> None:
        self.begun = False
        """`all` has been written."""
        self._kind = columns
        self._form = form
        self._write = write
        self._coloured = coloured
        self._columns = columns.shown(form, namespaces=namespaces)
        self._widths = [len(title) for title in self._columns]

    def all(self, items: Sequence[Item]) -> None:
        """Writer everything that exists."""
        if not self.begun:
            self._write(self._whole(list(items)))
        self.begun = True

    def one(self, item: Item) -> None:
        """Write one change."""
        self._write(self._single(item))

    def _whole(self, items: list[Item]) -> str:
        if self._form == "json":
            return json_text({"items": items})
        if self._form == "yaml":
            return "---\n".join(yaml_text(item) for item in items)
        if self._form == "name":
            return "".join(map(self._single, items))
        rows = [tuple(self._columns), *map(self._row, items)]
        self._widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "".join(map(self._line, rows))

    def _single(self, item: Item) -> str:
        if self._form == "json":
            return msgspec.json.encode(item).decode() + "\n"
        if self._form == "yaml":
            return "---\n" + yaml_text(item)
        if self._form == "name":
            return f"{self._kind.name(item)}\n"
        return self._line(self._row(item))

    def _row(self, item: Item) -> tuple[str, ...]:
        now = datetime.now(UTC)
        return tuple(self._cut(title, cell(item, now)) for title, cell in self._columns.items())

    def _cut(self, title: str, text: str) -> str:
        """The cell, a message no longer than can be read at once: ``-o wide`` has all of it."""
        return text if title != "MESSAGE" or self._form == "wide" else brief(text)

    def _line(self, row: Sequence[str]) -> str:
        padded = [cell.ljust(width) for cell, width in zip(row, self._widths, strict=True)]
        shown = [painted(title, cell) for title, cell in zip(self._columns, padded, strict=True)]
        return GAP.join(shown if self._coloured else padded).rstrip() + "\n"


def brief(text: str) -> str:
    """The text, or as much of it as `LONGEST` allows."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def document(value: object, form: Form) -> str:
    """A whole value as JSON or YAML."""
    return yaml_text(value) if form == "yaml" else json_text(value)


def json_text(value: object) -> str:
    """JSON that people can read, too."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def yaml_text(value: object) -> str:
    """YAML, its fields in their own order."""
    import yaml  # noqa: PLC0415 - a table does without

    # By way of JSON, which knows every type that is shown.
    return yaml.safe_dump(msgspec.json.decode(msgspec.json.encode(value)), sort_keys=False)


def table(columns: Columns, items: Iterable[Item]) -> str:
    """Items as a table."""
    out: list[str] = []
    Printer(columns, "table", out.append).all(list(items))
    return "".join(out)


def sort(columns: Columns, items: Iterable[Item], column: str | None) -> list[Item]:
    """The items by a column (``-COLUMN``: the largest first), or as they come. Raises BadInput."""
    if column is None:
        return list(items)
    title, known = column.lstrip("-").upper(), columns.shown("wide")
    if title not in known:
        raise BadInput(f"--sort {column}: there is no such column, expected one of {', '.join(known)}")
    cell, now = known[title], datetime.now(UTC)
    return sorted(items, key=lambda item: _rank(cell(item, now)), reverse=column.startswith("-"))


def _rank(text: str) -> tuple[bool, float, str]:
    """Numbers as numbers, before everything else."""
    try:
        return False, float(text.split(maxsplit=1)[0]), text
    except (ValueError, IndexError):
        return True, 0.0, text
