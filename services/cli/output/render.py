"""Items become lines here, for people in columns and for programs as JSON or YAML."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Literal

import msgspec
import yaml

from services.cli.get.kinds import Kind
from services.cli.output.item import Item

Form = Literal["table", "json", "yaml"]
Write = Callable[[str], object]
GAP = "   "


class Show:
    """Writes items of one kind: `all` that are there first, then `one` at a time."""

    def __init__(self, kind: Kind, form: Form, write: Write) -> None:
        self.begun = False
        """Everything that was there has been written."""
        self._kind = kind
        self._form = form
        self._write = write
        self._widths = [len(title) for title in kind.columns]

    def all(self, items: Sequence[Item]) -> None:
        """Everything that is there."""
        if not self.begun:
            self._write(self._whole(list(items)))
        self.begun = True

    def one(self, item: Item) -> None:
        """A change."""
        self._write(self._single(item))

    def _whole(self, items: list[Item]) -> str:
        if self._form == "json":
            return dumped({"items": items})
        if self._form == "yaml":
            return yaml.safe_dump_all(items, sort_keys=False)
        rows = [tuple(self._kind.columns), *(self._kind.row(item, datetime.now(UTC)) for item in items)]
        self._widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "".join(map(self._line, rows))

    def _single(self, item: Item) -> str:
        if self._form == "json":
            return msgspec.json.encode(item).decode() + "\n"
        if self._form == "yaml":
            return "---\n" + yaml.safe_dump(item, sort_keys=False)
        return self._line(self._kind.row(item, datetime.now(UTC)))

    def _line(self, cells: Sequence[str]) -> str:
        return GAP.join(cell.ljust(width) for cell, width in zip(cells, self._widths, strict=True)).rstrip() + "\n"


def dumped(value: object) -> str:
    """JSON for people to read, too."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
