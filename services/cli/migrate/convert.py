"""`alate import` converts the Colonies in a file and reports what could not be converted."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
import yaml

from services.cli.documents import documents
from services.cli.migrate.exalsius import API, Conversion, converted, kinds
from services.cli.migrate.exalsius_reader import Left
from services.cli.migrate.places import NOTHING, Accelerators, steps
from services.cli.output.render import TextWriter, json_text
from services.cli.placement.market import offered
from services.clients.catalog_sources import SAMPLE


async def show(  # noqa: PLR0913 - what a person says of it
    file: Path,
    catalogs: Sequence[str],
    given: Accelerators = NOTHING,
    *,
    as_json: bool,
    write: TextWriter,
    tell: TextWriter,
) -> bool:
    """True if every cluster was carried over. Raises BadInput, Refused."""
    offers, _ = await offered(catalogs or (str(SAMPLE),))
    known = kinds(offers)
    found = [converted(each, known, given) for each in documents(file, "Colony", API)]
    if as_json:
        write(json_text({"colonies": [msgspec.to_builtins(each) for each in found]}))
    else:
        write(yaml.safe_dump_all([each.colony for each in found if each.colony], sort_keys=False))
        tell("".join(_lines(found)))
    return not any(each.lost for each in found)


def _lines(found: Sequence[Conversion]) -> Iterable[str]:
    for number, each in enumerate(found, 1):
        called = each.name or number
        yield from _reported(f"Colony {called}: cluster not carried over", each.lost)
        yield from _reported(f"Colony {called}: left out", each.left)
    yield from (f"to do: {each}\n" for each in steps(place for each in found for place in each.places))


def _reported(what: str, several: Sequence[Left]) -> Iterable[str]:
    return (f"{what}: {each.path}: {each.why}\n" for each in several)
