"""Nodes, devices and storage are told of as the inventory last saw them, with how fresh that is."""

from collections.abc import Iterator, Sequence

import msgspec

from events.bus import Stored
from schemas.subjects import names_of
from services.items.item import Item


def nodes(stored: Stored) -> Iterator[Item]:
    """A node that is there, with what is free on it."""
    found = _read(stored)
    if found is not None:
        models = found.get("models", {}).values()
        free = sum(amount["available"] for amount in models) if models else 0
        yield found | {"free": free / 1000}


def gpus(stored: Stored) -> Iterator[Item]:
    """Each device of a node that is there."""
    found = _read(stored) or {}
    for device in found.get("devices", ()):
        where = {key: found[key] for key in ("namespace", "cluster", "node", "freshness") if key in found}
        yield where | {"accelerator": device["model"]} | device


def storage(stored: Stored) -> Iterator[Item]:
    """A storage class that is there."""
    found = _read(stored)
    if found is not None:
        yield found


def names(*fields: str) -> "Names":
    """An item's names are these of its fields."""
    return Names(fields)


class Names:
    """Reads an item's names."""

    def __init__(self, fields: tuple[str, ...]) -> None:
        self._fields = fields

    def __call__(self, item: Item) -> tuple[str, ...]:
        """In order."""
        return tuple(str(item.get(field, "")) for field in self._fields)

    def arranged(self, some: Sequence[Item], _: Sequence[Item]) -> list[Item]:
        """In the order of the names."""
        return sorted(some, key=self)


def _read(stored: Stored) -> Item | None:
    tenant, cluster, _ = names_of(stored.subject)[2:]
    item = msgspec.json.decode(stored.data)
    return {"namespace": tenant, "cluster": cluster} | item if item.get("present", True) else None
