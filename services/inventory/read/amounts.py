"""What nodes and pods say of amounts is believed only where it makes sense, and what does not is told."""

from collections.abc import Iterable, Mapping

from events.kube.port import Object
from schemas.inventory import Amount, Trouble
from services.kubernetes.resources import SHARE, Amounts, BadQuantity, is_accelerator, milli

NONE = Amount()
BOUNDS: Mapping[str, int] = {
    "cpu": 10**4 * 1000,
    "memory": 2**50 * 1000,
    "ephemeral-storage": 2**52 * 1000,
    "pods": 10**4 * 1000,
    SHARE: 1024 * 1000 * 1000,
}
"""In thousandths: no machine has more. Counts near 2^64 come from subtractions that went below zero elsewhere."""
PIECES = 1024 * 1000
"""The same for each accelerator's resource: 1024 pieces."""


def is_counted(resource: str) -> bool:
    """Whether it is among what is told of a node."""
    return resource in BOUNDS or is_accelerator(resource)


def allocatable(node: Object) -> tuple[Amounts, tuple[Trouble, ...]]:
    """What a node offers, by resource; a number that cannot be is zero, or what it may be at most, and is told."""
    status = node.get("status", {})
    capacity = status.get("capacity") or {}
    found: Amounts = {}
    troubles = []
    for resource, said in (status.get("allocatable") or {}).items():
        if is_counted(resource):
            found[resource], trouble = _sane(resource, said, capacity.get(resource))
            troubles += [trouble] if trouble else []
    return found, tuple(troubles)


def _sane(resource: str, said: object, capacity: object) -> tuple[int, Trouble | None]:
    try:
        amount = milli(str(said))
        most = milli(str(capacity)) if capacity is not None else amount
    except BadQuantity as bad:
        return 0, Trouble(reason="BadQuantity", message=f"status.allocatable[{resource}]: {bad}")
    where = f"status.allocatable[{resource}] is {said}"
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
    """Both within what is offered; a trouble with the raw numbers if they were not."""
    if 0 <= taken <= offered:
        return Amount(allocatable=offered, allocated=taken, available=offered - taken), None
    text = f"pods hold {taken / 1000:g} of {resource}, and {offered / 1000:g} can be allocated"
    trouble = Trouble(reason="OverAllocated", message=text, raw=_raw(allocatable=offered, allocated=taken))
    kept = min(max(taken, 0), offered)
    return Amount(allocatable=offered, allocated=kept, available=offered - kept), trouble


def added(amounts: Iterable[Amount]) -> Amount:
    """All of them together."""
    total, held, free = 0, 0, 0
    for amount in amounts:
        total, held, free = total + amount.allocatable, held + amount.allocated, free + amount.available
    return Amount(allocatable=total, allocated=held, available=free)


def _raw(**numbers: int) -> dict[str, int]:
    """Numbers as they were read, cut to what JSON readers hold in 64 bits."""
    return {name: max(-(2**63), min(number, 2**63 - 1)) for name, number in numbers.items()}


def pieces(status: Object, offered: Amounts) -> dict[str, int]:
    """Whole accelerators by resource: its capacity, where that is a number that makes sense."""
    found = {}
    for resource, amount in offered.items():
        if is_accelerator(resource):
            try:
                most = milli(str((status.get("capacity") or {}).get(resource, 0)))
            except BadQuantity:
                most = 0
            larger = most if amount < most < 2 * 1024 * 1000 else amount
            found[resource] = larger // (1_000_000 if resource == SHARE else 1000)
    return found


def pieced(resource: str, amount: Amount) -> Amount:
    """In thousandths of accelerators, whatever the resource counts in."""
    if resource != SHARE:
        return amount
    return Amount(
        allocatable=amount.allocatable // 1000, allocated=amount.allocated // 1000, available=amount.available // 1000
    )
