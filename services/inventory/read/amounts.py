"""Amounts that nodes offer and pods hold: checked, bounded, and counted in whole accelerators."""

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import ceil

from events.kube.port import Object
from schemas.inventory import Amount, Device, Trouble
from services.kubernetes.resources import GPU_MILLI, InvalidQuantity, ResourceAmounts, is_accelerator, milli

NONE = Amount()
BOUNDS: Mapping[str, int] = {
    "cpu": 10**4 * 1000,
    "memory": 2**50 * 1000,
    "ephemeral-storage": 2**52 * 1000,
    "pods": 10**4 * 1000,
    GPU_MILLI: 1024 * 1000 * 1000,
}
"""In thousandths: no machine has more. Counts near 2^64 come from subtractions that went below zero elsewhere."""
MOST_REQUESTED = 2**63
"""Thousandths that a pod may request of a resource; more is a mistake."""
PIECES = 1024 * 1000
"""The same for each accelerator's resource: 1024 pieces."""


def is_counted(resource: str) -> bool:
    """Whether the amount of a resource is part of a node's level."""
    return resource in BOUNDS or is_accelerator(resource)


def allocatable(node: Object) -> tuple[ResourceAmounts, tuple[Trouble, ...]]:
    """What a node offers, by resource; an impossible number becomes 0 or the maximum, and a trouble."""
    status = node.get("status", {})
    capacity = status.get("capacity") or {}
    found: ResourceAmounts = {}
    troubles = []
    for resource, written in (status.get("allocatable") or {}).items():
        if is_counted(resource):
            found[resource], trouble = _sane(resource, written, capacity.get(resource))
            troubles += [trouble] if trouble else []
    return found, tuple(troubles)


def _sane(resource: str, written: object, capacity: object) -> tuple[int, Trouble | None]:
    try:
        amount = milli(str(written))
        most = milli(str(capacity)) if capacity is not None else amount
    except InvalidQuantity as bad:
        return 0, Trouble(reason="BadQuantity", message=f"status.allocatable[{resource}]: {bad}")
    where = f"status.allocatable[{resource}] is {written}"
    if amount < 0:
        return 0, Trouble(reason="NegativeCount", message=f"{where}: expected 0 or more", raw=_raw(allocatable=amount))
    if amount > (bound := BOUNDS.get(resource, PIECES)):
        text = f"{where}: expected at most {bound // 1000}"
        return 0, Trouble(reason="AbsurdCount", message=text, raw=_raw(allocatable=amount))
    if 0 <= most < amount:
        text = f"{where}, more than its capacity of {capacity}"
        return most, Trouble(reason="OverCapacity", message=text, raw=_raw(allocatable=amount, capacity=most))
    return amount, None


def balance(resource: str, offered: int, taken: int) -> tuple[Amount, Trouble | None]:
    """Offered and held amounts, with a trouble that has the raw numbers if more is held than offered."""
    if 0 <= taken <= offered:
        return Amount(allocatable=offered, allocated=taken, available=offered - taken), None
    text = f"pods hold {taken / 1000:g} of {resource}, and {offered / 1000:g} can be allocated"
    trouble = Trouble(reason="OverAllocated", message=text, raw=_raw(allocatable=offered, allocated=taken))
    kept = min(max(taken, 0), offered)
    return Amount(allocatable=offered, allocated=kept, available=offered - kept), trouble


def sum_amounts(amounts: Iterable[Amount]) -> Amount:
    """The sum of all amounts."""
    total, held, free = 0, 0, 0
    for amount in amounts:
        total, held, free = total + amount.allocatable, held + amount.allocated, free + amount.available
    return Amount(allocatable=total, allocated=held, available=free)


def _raw(**numbers: int) -> dict[str, int]:
    """Numbers as they were read, cut to what JSON readers hold in 64 bits."""
    return {name: max(-(2**63), min(number, 2**63 - 1)) for name, number in numbers.items()}


def offered_accelerators(status: Object, offered: ResourceAmounts) -> dict[str, int]:
    """Whole accelerators by resource: the capacity, if that is a sensible number."""
    found = {}
    for resource, amount in offered.items():
        if is_accelerator(resource):
            try:
                most = milli(str((status.get("capacity") or {}).get(resource, 0)))
            except InvalidQuantity:
                most = 0
            larger = most if amount < most < 2 * 1024 * 1000 else amount
            found[resource] = larger // (1_000_000 if resource == GPU_MILLI else 1000)
    return found


def in_accelerators(resource: str, amount: Amount) -> Amount:
    """An amount in thousandths of accelerators, whatever unit the resource has."""
    if resource != GPU_MILLI:
        return amount
    return Amount(
        allocatable=amount.allocatable // 1000, allocated=amount.allocated // 1000, available=amount.available // 1000
    )


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


def held_accelerators(models: Mapping[str, Amount], accelerators: Mapping[str, int]) -> int:
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


def checked_requests(amounts: ResourceAmounts) -> ResourceAmounts:
    """What a pod requests. Raises BadQuantity for an impossible amount."""
    if below := [name for name, amount in amounts.items() if amount < 0]:
        raise InvalidQuantity(f"it asks for less than 0 of {', '.join(below)}")
    if above := [name for name, amount in amounts.items() if amount > MOST_REQUESTED]:
        raise InvalidQuantity(f"it asks for more of {', '.join(above)} than any machine has")
    return amounts
