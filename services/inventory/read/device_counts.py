"""How many accelerators stand behind what nodes offer: one that pods share, or that is partitioned, is still one."""

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import ceil

from schemas.inventory import Amount, Device

WHOLE = Fraction(1)
PARTS: Mapping[str, Fraction] = {
    "1": Fraction(1, 7), "2": Fraction(1, 3), "3": Fraction(1, 2), "4": WHOLE, "7": WHOLE,
}  # fmt: skip
"""Which part of a GPU an instance of a MIG profile takes at the least, by its compute slices: 1 / how many fit."""
SMALLEST: Mapping[str, int] = {
    "A100": 5,
    "A100-80GB": 10,
    "H100": 10,
    "H100-NVL": 12,
    "GH200": 12,
    "H200": 18,
    "B200": 23,
}
"""Memory (GB) of an instance of one slice; one with more is the profile of which four fit."""
PARTITIONS: Mapping[str, int] = {"cpx": 8, "qpx": 4, "dpx": 2}
"""What AMD's compute partition modes make of one device."""
_PROFILE = re.compile(r"(?P<model>.+) (?P<slices>[1-7])g\.(?P<memory>[0-9]{1,3})gb\S*")


def by_model(models: Mapping[str, Amount], devices: Iterable[Device]) -> dict[str, int]:
    """Accelerators of one node by model; `models` are amounts by model and MIG profile."""
    divided = {each.model: _divided(each) for each in devices}
    found: dict[str, Fraction] = {}
    for key, amount in models.items():
        model, part = _read(key)
        pieces = Fraction(amount.allocatable, 1000)
        counted = pieces * part if part != WHOLE else Fraction(int(pieces), divided.get(model, 1))
        found[model] = found.get(model, Fraction(0)) + counted
    return {model: ceil(number) for model, number in sorted(found.items())}


def held(models: Mapping[str, Amount], accelerators: Mapping[str, int]) -> int:
    """How many of these pods hold, wholly or in part, if what they hold is packed as densely as it can be."""
    offered: dict[str, Fraction] = {}
    taken: dict[str, Fraction] = {}
    for key, amount in models.items():
        model, part = _read(key)
        offered[model] = offered.get(model, Fraction(0)) + amount.allocatable * part
        taken[model] = taken.get(model, Fraction(0)) + amount.allocated * part
    return ceil(sum(taken[m] * accelerators.get(m, 0) / offered[m] for m in taken if offered[m]))


def _read(key: str) -> tuple[str, Fraction]:
    """The model, and which part of one device each piece is."""
    found = _PROFILE.fullmatch(key)
    if found is None:
        return key, WHOLE
    fits_four = found["slices"] == "1" and int(found["memory"]) > SMALLEST.get(found["model"], 1000)
    return found["model"], Fraction(1, 4) if fits_four else PARTS.get(found["slices"], WHOLE)


def _divided(device: Device) -> int:
    return device.shares * PARTITIONS.get(device.partition.partition("_")[0].lower(), 1)
