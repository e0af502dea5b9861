"""The targets of a file as a list, each with what it is told and whether it has its secret."""

from pathlib import Path
from typing import NamedTuple

from schemas.crds import Refused
from services.cli.output.item import Item
from services.cli.output.render import GAP, dumped
from services.errors import BadInput
from services.local.folder import Folder
from services.outbound.targets import Target, Targets

TITLES = ("NAME", "TENANT", "FORMAT", "URL", "EVENTS", "STATE")
FILE = "targets.yaml"


class Listed(NamedTuple):
    """One target."""

    target: Target
    has_secret: bool

    @property
    def state(self) -> str:
        """How it stands."""
        return "told" if self.has_secret else f"not told: no secret in the file {self.target.name}"

    def item(self) -> Item:
        """As JSON would have it."""
        return {**self.target.model_dump(mode="json", by_alias=True), "secret": self.has_secret, "state": self.state}

    def cells(self) -> tuple[str, ...]:
        """As a line has it."""
        wanted = ",".join(self.target.events) if self.target.format == "cloudevents" else ""
        return (self.target.name, self.target.tenant or "all", self.target.format, self.target.url, wanted, self.state)


def listed(folder: Path, file: Path | None, secrets: Path | None, *, followed: bool = False) -> list[Listed]:
    """Every target. Raises BadInput; `followed`: outbound reads this very file."""
    place = file or Folder(folder).targets / FILE
    try:
        targets = Targets(place, secrets or place.parent)
    except OSError as error:
        raise BadInput(f"{place} cannot be read ({error.strerror}): name the file of targets with -f") from error
    except (Refused, UnicodeDecodeError) as wrong:
        on = "; outbound goes on with the targets it had before" if followed else ""
        raise BadInput(f"{place} is refused: {wrong}{on}") from wrong
    return [Listed(each, bool(targets.secrets(each))) for each in targets.now().values()]


def written(found: list[Listed], *, as_json: bool) -> str:
    """A table, or one JSON object."""
    if as_json:
        return dumped({"items": [each.item() for each in found]})
    rows = [TITLES, *(each.cells() for each in found)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "".join(f"{line}\n" for line in lines)
