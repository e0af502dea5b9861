"""Nodes, devices and storage as the inventory last saw them, with their freshness."""

import re
from collections.abc import Iterator, Sequence

import msgspec

from events.bus import Stored
from schemas.subjects import names_of
from services.queries.item import Item

_PROFILE = re.compile(r"(?<= )[1-7]g\.[0-9]+gb\S*$")
"""How a MIG profile ends the name of a model of which it is a part."""


def nodes(stored: Stored) -> Iterator[Item]:
    """A node that is there, with what is free on it."""
    found = _read(stored)
    if found is not None:
        models = found.get("models", {})
        free = sum(amount["available"] for model, amount in models.items() if not _slice(model))
        slices = (f"{amount['allocatable'] // 1000} x {_slice(model)}" for model, amount in models.items())
        yield found | {"free": free / 1000, "slices": ", ".join(told for told in slices if not told.endswith(" x "))}


def _slice(model: str) -> str:
    """The MIG profile of one of a node's models; empty for whole accelerators."""
    found = _PROFILE.search(model)
    return found[0] if found else ""


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
