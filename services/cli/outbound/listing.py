"""The targets of a file as a list, each with its events and whether it has its secret."""

from pathlib import Path
from typing import NamedTuple

from schemas.crds import InvalidResource
from services.cli.connection import found as stack_folder
from services.cli.output.cells import field
from services.cli.output.render import Columns, Form, Printer
from services.errors import BadInput
from services.outbound.targets import Target, TargetFile
from services.queries.item import Item

COLUMNS = Columns(
    {
        "NAME": field("name"),
        "TENANT": lambda item, _: item.get("tenant") or "all",
        "FORMAT": field("format"),
        "URL": field("url"),
        "EVENTS": lambda item, _: ",".join(item["events"]),
        "STATE": field("state"),
    }
)
FILE = "targets.yaml"


class ListedTarget(NamedTuple):
    """One target."""

    target: Target
    has_secret: bool

    @property
    def state(self) -> str:
        """Whether it is notified."""
        return "notified" if self.has_secret else f"not notified: no secret in the file {self.target.name}"

    def item(self) -> Item:
        """As JSON would have it."""
        target = self.target
        events = target.wanted if target.names_events else []
        shown = {**target.model_dump(mode="json", by_alias=True), "events": events}
        return {**shown, "secret": self.has_secret, "state": self.state}


def listed(
    folder: Path | None, file: Path | None, secrets: Path | None, *, followed: bool = False
) -> list[ListedTarget]:
    """Every target. Raises BadInput; `followed`: outbound reads this very file."""
    place = file or stack_folder(folder).targets / FILE
    try:
        targets = TargetFile(place, secrets or place.parent)
    except OSError as error:
        raise BadInput(f"{place} cannot be read ({error.strerror}): name the file of targets with -f") from error
    except (InvalidResource, UnicodeDecodeError) as wrong:
        on = "; outbound goes on with the targets it had before" if followed else ""
        raise BadInput(f"{place} is refused: {wrong}{on}") from wrong
    return [ListedTarget(each, bool(targets.secrets(each))) for each in targets.now().values()]


def written(found: list[ListedTarget], form: Form, *, coloured: bool = False) -> str:
    """The targets in a form."""
    out: list[str] = []
    Printer(COLUMNS, form, out.append, coloured=coloured).all([each.item() for each in found])
    return "".join(out)
