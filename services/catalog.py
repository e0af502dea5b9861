"""Price catalogs in SkyPilot's schema become offers; a row that makes no sense is refused with its reason."""

import csv
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from schemas.accelerators import canonical
from schemas.inventory import Offer, Offers

Row = Mapping[str, str]

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


@dataclass(frozen=True)
class Catalog:
    """What was read of one cloud's prices."""

    offers: tuple[Offer, ...]
    refused: tuple[str, ...]
    """One sentence per row that was left out: where, what, what would be right."""


class Nonsense(ValueError):
    """A row that cannot be an offer."""


def read(cloud: str, rows: Iterable[Row]) -> Catalog:
    """Read one cloud's rows: prices are USD per hour for the whole machine, memory is GiB."""
    offers: dict[tuple[str, str, str], Offer] = {}
    refused = []
    numbered = enumerate(rows, start=2)  # the first line names the columns
    for number, row in _gcp(list(numbered)) if cloud == "gcp" else numbered:
        try:
            offer = _offer(cloud, row)
        except Nonsense as why:
            refused.append(f"{cloud} row {number}: {why}")
        else:
            offers.setdefault((offer.region, offer.zone, offer.instance), offer)
    return Catalog(tuple(offers.values()), tuple(refused))


def read_folder(folder: Path) -> dict[str, Catalog]:
    """Every ``<cloud>.csv`` of a folder. Raises OSError if it is not there."""
    found = {}
    for path in sorted(folder.glob("*.csv")):
        with path.open(newline="", encoding="utf-8") as file:
            found[path.stem] = read(path.stem, csv.DictReader(file))
    return found


def regions(offers: Iterable[Offer]) -> Iterator[Offers]:
    """The offers, region by region, as they are said on the bus."""
    sorted_out: dict[tuple[str, str], list[Offer]] = {}
    for offer in offers:
        sorted_out.setdefault((offer.cloud, offer.region), []).append(offer)
    for (cloud, region), held in sorted_out.items():
        yield Offers(cloud=cloud, region=region, offers=tuple(held))


def _gcp(rows: list[tuple[int, Row]]) -> Iterator[tuple[int, Row]]:
    """Each host row with its GPUs' row of the same zone, prices added up."""
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


def _sum(host: Row, gpu: Row, column: str) -> str:
    parts = (host.get(column) or "", gpu.get(column) or "")
    try:
        return str(round(sum(map(float, parts)), 6)) if all(parts) else ""
    except ValueError:  # refused as it is
        return " + ".join(parts)


def _offer(cloud: str, row: Row) -> Offer:
    accelerator = canonical(row.get("AcceleratorName") or "")
    if accelerator is None:
        raise Nonsense(f"AcceleratorName {row.get('AcceleratorName')!r} is no accelerator that is known")
    count, price = _number(row, "AcceleratorCount"), _number(row, "Price")
    if count < 1 or count != int(count):
        raise Nonsense(f"AcceleratorCount {row['AcceleratorCount']!r} must be a whole number of at least 1")
    if price <= 0:
        raise Nonsense(f"Price {row['Price']!r} must be more than 0")
    spot = _number(row, "SpotPrice") if row.get("SpotPrice") else 0.0
    return Offer(
        cloud=cloud,
        region=_name(row, "Region"),
        zone=row.get("AvailabilityZone") or "",
        instance=_name(row, "InstanceType"),
        accelerator=accelerator,
        accelerators=int(count),
        cpu=_number(row, "vCPUs"),
        memory_gib=_number(row, "MemoryGiB"),
        price=price,
        spot_price=spot if spot > 0 else None,
    )


def _number(row: Row, column: str) -> float:
    try:
        number = float(row[column])
    except (KeyError, TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise Nonsense(f"{column} {row.get(column)!r} must be a number")
    return number


def _name(row: Row, column: str) -> str:
    if not row.get(column):
        raise Nonsense(f"{column} {row.get(column)!r} must be given")
    return row[column]
