"""Turns price catalogs in SkyPilot's schema into offers; an invalid row is refused with its reason."""

import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from schemas.accelerators import canonical
from schemas.inventory import Offer, Offers

CatalogRow = Mapping[str, str]
NONE: Mapping[str, float] = {}

# GCP prices the host and its GPUs in rows of their own; which GPU goes with which machine type is not in the file.
# Source: the machine types' documentation, as noted with the sample catalog.
GCP_HOSTS: dict[str, tuple[str, int]] = {
    "a2-highgpu-1g": ("A100", 1),
    "a2-highgpu-2g": ("A100", 2),
    "a2-highgpu-4g": ("A100", 4),
    "a2-highgpu-8g": ("A100", 8),
    "a2-ultragpu-8g": ("A100-80GB", 8),
    "a3-highgpu-8g": ("H100", 8),
    "a3-megagpu-8g": ("H100-MEGA", 8),
    "g2-standard-4": ("L4", 1),
    "g2-standard-8": ("L4", 1),
    "g2-standard-48": ("L4", 4),
    "g2-standard-96": ("L4", 8),
}


NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
UNITS = {
    "Price": "USD an hour",
    "SpotPrice": "USD an hour",
    "MemoryGiB": "GiB",
    "vCPUs": "",
    "AcceleratorCount": "",
    "Limit": "nodes",
    "DiskGiB": "GiB",
}
"""The unit of each numeric column."""
MOST_ACCELERATORS = 128
"""In one machine: more is a broken count. Source: support issue 429 of Akash proposes the same cap."""
MOST_NODES = 1_000_000
FROM_THE_SECOND = range(2, sys.maxsize)
"""The first line names the columns."""


@dataclass(frozen=True)
class PriceCatalog:
    """What was read of one cloud's prices."""

    offers: tuple[Offer, ...]
    refused: tuple[str, ...] = ()
    """One sentence per refused row: where, what, what would be right."""
    damaged: str = ""
    """What is wrong with the text as a whole, in one sentence; its valid rows are read all the same."""


class InvalidRow(ValueError):
    """A row that cannot be an offer."""


def read(
    cloud: str, rows: Iterable[CatalogRow], numbers: Iterable[int] = FROM_THE_SECOND, called: str = "row"
) -> PriceCatalog:
    """Read one cloud's rows: prices are USD per hour for the whole machine, memory is GiB, `Limit` is nodes.

    A row is refused by its number and by what the text calls it (`called`). Machines without accelerators are skipped.
    """
    offers: dict[tuple[str, str, str], tuple[int, Offer]] = {}
    refused = {}
    whole: list[tuple[int, CatalogRow]] = []
    for number, row in zip(numbers, rows, strict=False):
        if why := _shape_error(row):
            refused[number] = why
        else:
            whole.append((number, row))
    for number, row in _with_gcp_gpus(whole) if cloud == "gcp" else filter(_accelerated, whole):
        try:
            offer = _offer(cloud, row)
        except InvalidRow as why:
            refused[number] = str(why)
        else:
            first, _ = offers.setdefault((offer.region, offer.zone, offer.instance), (number, offer))
            if first != number:
                refused[number] = f"{offer.instance} of {_where(offer)} is in {called} {first} already, which counts"
    messages = tuple(f"{cloud} {called} {number}: {refused[number]}" for number in sorted(refused))
    return PriceCatalog(tuple(offer for _, offer in offers.values()), messages)


def _shape_error(row: CatalogRow) -> str:
    """What is wrong with the shape of a row; empty if nothing is."""
    given: dict[str | None, object] = dict(row.items())
    if None in given:  # as csv.DictReader marks what is beyond the first line's columns
        return f"has more than the {len(row) - 1} fields that the first line names"
    missing = sum(value is None for value in given.values())
    if missing:
        return f"has {len(row) - missing} of {len(row)} fields: it is cut off"
    return "" if any(given.values()) else "is empty"


def _accelerated(numbered: tuple[int, CatalogRow]) -> bool:
    row = numbered[1]
    return bool(row.get("AcceleratorName") or row.get("AcceleratorCount") or not row.get("InstanceType"))


def _where(offer: Offer) -> str:
    return f"{offer.region} {offer.zone}".strip()


def regions(
    offers: Iterable[Offer], as_of: datetime | None = None, control_planes: Mapping[str, float] = NONE
) -> Iterator[Offers]:
    """The offers by region, as published; `control_planes` is the price of one by cloud (USD/h)."""
    sorted_out: dict[tuple[str, str], list[Offer]] = {}
    for offer in offers:
        sorted_out.setdefault((offer.cloud, offer.region), []).append(offer)
    for (cloud, region), held in sorted_out.items():
        yield Offers(
            cloud=cloud,
            region=region,
            offers=tuple(held),
            as_of=as_of,
            control_plane_per_hour=control_planes.get(cloud, 0.0),
        )


def _with_gcp_gpus(rows: list[tuple[int, CatalogRow]]) -> Iterator[tuple[int, CatalogRow]]:
    """Each host row of GCP with the row of its GPUs in the same zone, prices added up."""
    gpus = {
        (row["AcceleratorName"], row["AcceleratorCount"].removesuffix(".0"), row.get("AvailabilityZone")): row
        for _, row in rows
        if row.get("AcceleratorName") and row.get("AcceleratorCount") and not row.get("InstanceType")
    }
    for number, row in rows:
        name, count = GCP_HOSTS.get(row.get("InstanceType", ""), ("", 0))
        gpu = gpus.get((name, str(count), row.get("AvailabilityZone")))
        if gpu is not None:
            prices = {column: _sum(row, gpu, column) for column in ("Price", "SpotPrice")}
            yield number, {**row, "AcceleratorName": name, "AcceleratorCount": str(count)} | prices


def _sum(host: CatalogRow, gpu: CatalogRow, column: str) -> str:
    parts = (host.get(column) or "", gpu.get(column) or "")
    try:
        return str(round(sum(map(float, parts)), 6)) if all(parts) else ""
    except ValueError:  # refused as it is
        return " + ".join(parts)


def _offer(cloud: str, row: CatalogRow) -> Offer:
    accelerator = canonical(row.get("AcceleratorName") or "")
    if accelerator is None:
        raise InvalidRow(f"AcceleratorName {row.get('AcceleratorName')!r} is no accelerator that is known")
    limit = _whole(row, "Limit", 1, MOST_NODES) if row.get("Limit") else None
    spot = _number(row, "SpotPrice") if row.get("SpotPrice") else 0.0
    return Offer(
        cloud=cloud,
        region=_name(row, "Region"),
        zone=_printable(row, "AvailabilityZone"),
        instance=_name(row, "InstanceType"),
        accelerator=accelerator,
        accelerators=_whole(row, "AcceleratorCount", 1, MOST_ACCELERATORS),
        cpu=_number(row, "vCPUs"),
        memory_gib=_number(row, "MemoryGiB"),
        price=_price(row, free=limit is not None),
        spot_price=spot if spot > 0 else None,
        limit=limit,
        disk_gib=_number(row, "DiskGiB") if row.get("DiskGiB") else None,
        country=_printable(row, "Country"),
    )


def _price(row: CatalogRow, *, free: bool) -> float:
    """Own nodes are limited and may be free; a cloud's free machine is a gap in its list."""
    price = _number(row, "Price")
    if price <= 0 and not free:
        raise InvalidRow(f"Price {row['Price']!r} must be more than 0 where no Limit is given")
    return price


def _whole(row: CatalogRow, column: str, least: int, most: int) -> int:
    number = _number(row, column)
    if not least <= number <= most or number != int(number):
        raise InvalidRow(f"{column} {row[column]!r} must be a whole number from {least} to {most}")
    return int(number)


def _number(row: CatalogRow, column: str) -> float:
    """A number that is not negative; units, currency signs and separators are refused rather than guessed."""
    value = row.get(column)
    if value is None or not NUMBER.fullmatch(value.strip()) or not math.isfinite(float(value)):
        unit = f" ({UNITS[column]}, without the unit)" if UNITS[column] and value else ""
        raise InvalidRow(f"{column} {value!r} must be a number{unit}")
    if float(value) < 0:
        raise InvalidRow(f"{column} {value!r} must not be negative")
    return float(value)


def _name(row: CatalogRow, column: str) -> str:
    if not row.get(column):
        raise InvalidRow(f"{column} {row.get(column)!r} must be given")
    return _printable(row, column)


def _printable(row: CatalogRow, column: str) -> str:
    """The value; refused if it cannot be printed, as it would go on to terminals, objects and logs."""
    name = row.get(column) or ""
    if not name.isprintable():
        raise InvalidRow(f"{column} {name!r} holds what cannot be printed")
    return name
