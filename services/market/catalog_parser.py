"""Parses a catalog's text into rows, and tells a damaged file from invalid rows."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from io import StringIO
from itertools import islice
from pathlib import Path

from schemas.documents import InvalidYaml, document
from services.market.catalog import CatalogRow, PriceCatalog, read

COLUMNS = ("InstanceType", "AcceleratorName", "AcceleratorCount", "vCPUs", "MemoryGiB", "Price", "Region")
"""The columns of SkyPilot's schema that an offer needs; SpotPrice, AvailabilityZone and our own Limit are optional."""
OWN_COLUMNS = {
    "name": "InstanceType",
    "accelerator": "AcceleratorName",
    "accelerators": "AcceleratorCount",
    "cpu": "vCPUs",
    "memoryGiB": "MemoryGiB",
    "pricePerHour": "Price",
    "region": "Region",
    "zone": "AvailabilityZone",
    "nodes": "Limit",
    "diskGiB": "DiskGiB",
    "country": "Country",
}
"""The names of the columns in a file of own nodes."""
DEFAULTS = {"vCPUs": "0", "MemoryGiB": "0", "Price": "0", "Region": "own", "AvailabilityZone": "", "Limit": ""}
"""Own nodes are free unless they have a price."""
YAML = (".yaml", ".yml")
ENDINGS = (".csv", *YAML)


LARGEST = 16 << 20
"""Bytes of a catalog; SkyPilot's largest has a few MB."""
LARGEST_YAML = 1 << 20
"""Characters of a catalog in YAML."""
MOST_ROWS = 200_000
LONGEST = 1024
"""Characters of a field of a pool, and of what is reported of it."""


def parse(cloud: str, data: bytes, ending: str = ".csv") -> PriceCatalog:
    """Read a catalog: SkyPilot's CSV, or own nodes in YAML (``pools: [{name, accelerator, nodes, …}]``)."""
    if len(data) > LARGEST:
        return PriceCatalog((), damaged=f"{cloud}: is larger than {LARGEST} bytes: leave out what is of no use")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        return PriceCatalog((), damaged=f"{cloud}: byte {wrong.start} is not UTF-8: the file is damaged or no text")
    catalog = _own_nodes(cloud, text) if ending in YAML else _csv(cloud, text)
    if not catalog.offers and not catalog.damaged:
        return replace(catalog, damaged=f"{cloud}: holds no offer")
    return catalog


def read_folder(folder: Path) -> dict[str, PriceCatalog]:
    """Every catalog of a folder, by cloud: the name of its file. Raises OSError."""
    return {path.stem: parse(path.stem, path.read_bytes(), path.suffix) for path in files(folder)}


def files(folder: Path) -> list[Path]:
    """The catalogs of a folder. Raises OSError if it does not exist."""
    return sorted(path for path in folder.iterdir() if path.suffix in ENDINGS)


def _csv(cloud: str, text: str) -> PriceCatalog:
    named: tuple[str, ...] = ()
    rows: list[CatalogRow] = []
    damaged = ""
    reader = csv.DictReader(StringIO(text, newline=""), strict=True)
    try:
        named = tuple(reader.fieldnames or ())
        rows.extend(islice(reader, MOST_ROWS))
    except csv.Error as wrong:
        damaged = f"{cloud}: row {len(rows) + 2} cannot be read ({wrong}): the file is cut off or damaged"
    if len(rows) == MOST_ROWS:
        damaged = f"{cloud}: has {MOST_ROWS} rows or more: what is beyond them is not read"
    if missing := [column for column in COLUMNS if column not in named]:
        there = ", ".join(named) or "nothing"
        return PriceCatalog((), damaged=f"{cloud}: the first line must name {', '.join(missing)}; it names {there}")
    if rows and None in rows[-1].values() and not text.endswith("\n"):
        damaged = f"{cloud}: the last row is cut off: the file is not whole"
    return replace(read(cloud, rows), damaged=damaged)


def _own_nodes(cloud: str, text: str) -> PriceCatalog:
    try:
        written = document(text, LARGEST_YAML)
    except InvalidYaml as wrong:
        return PriceCatalog((), damaged=f"{cloud}: is no YAML: {wrong}")
    pools = written.get("pools") if isinstance(written, Mapping) else None
    if not isinstance(pools, list) or not all(isinstance(pool, Mapping) for pool in pools):
        return PriceCatalog((), damaged=f"{cloud}: must hold a list of pools, each with {', '.join(OWN_COLUMNS)}")
    known = {number: _row(pool) for number, pool in enumerate(pools, start=1) if not set(pool) - set(OWN_COLUMNS)}
    strange = (f"{cloud} pool {n}: {_unknown(pool)}" for n, pool in enumerate(pools, start=1) if n not in known)
    catalog = read(cloud, known.values(), known, "pool")
    return replace(catalog, refused=(*strange, *catalog.refused))


def _row(pool: Mapping[str, object]) -> CatalogRow:
    return DEFAULTS | {OWN_COLUMNS[field]: _as_text(value) for field, value in pool.items() if value is not None}


def _as_text(value: object) -> str:
    """A field as text; a nested value becomes the name of its type, as aliases of aliases can be endless."""
    return str(value) if isinstance(value, str | int | float | date) else type(value).__name__


def _unknown(pool: Mapping[str, object]) -> str:
    fields = sorted(str(field)[:LONGEST] for field in set(pool) - set(OWN_COLUMNS))
    return f"{', '.join(fields)} is not known: use {', '.join(OWN_COLUMNS)}"


@dataclass(frozen=True)
class CatalogText:
    """One cloud's catalog as text."""

    cloud: str
    source: str
    data: bytes
    ending: str = ".csv"
    as_of: datetime | None = None
    """When it was written; None if unknown."""


@dataclass(frozen=True)
class UnreadCatalog:
    """A catalog that could not be read."""

    cloud: str
    """Empty if unknown, as when its folder cannot be read."""
    source: str
    why: str
    """One sentence."""


CatalogReading = CatalogText | UnreadCatalog
