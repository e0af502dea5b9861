"""Records an add-on's objects on its cluster, so that they can be deleted once no Colony names them."""

from collections.abc import Iterable, Mapping

import msgspec

from events.errors import NotFound
from events.kube.client import Kube, Object
from events.kube.resources import CONFIGMAPS
from services.addons.owned_objects import OwnedObject, owner, read_object
from services.kubernetes.labels import GROUP, MANAGER

NAMESPACE = "kube-system"
LABEL = f"{GROUP}/belongings"
"""On the records, with the add-on's name."""
OBJECTS, FOUND = "objects", "found"
"""The keys of a record."""


class InventoryRecord(msgspec.Struct, frozen=True):
    """What an add-on has on a cluster."""

    has: tuple[OwnedObject, ...] = ()
    """In the order it was written."""
    found: tuple[OwnedObject, ...] = ()
    """The objects that existed before any add-on had them."""


async def read_record(kube: Kube, addon: str) -> InventoryRecord:
    """What an add-on has; empty without a record."""
    try:
        return _read(await kube.get(CONFIGMAPS, _name(addon), NAMESPACE))
    except NotFound:
        return InventoryRecord()


async def read_records(kube: Kube) -> Mapping[str, InventoryRecord]:
    """What every add-on of the cluster has."""
    kept = (await kube.list(CONFIGMAPS, NAMESPACE, labels=LABEL)).items
    return {each["metadata"]["labels"][LABEL]: _read(each) for each in kept}


async def extend_record(kube: Kube, addon: str, more: Iterable[OwnedObject]) -> InventoryRecord:
    """Add objects to the record before they are written, so that none is forgotten; returns the record."""
    before = await read_record(kube, addon)
    new = tuple(dict.fromkeys(one for one in more if one not in before.has))
    if not new:
        return before
    all_ = InventoryRecord((*before.has, *new), (*before.found, *await _preexisting(kube, new)))
    await _write(kube, addon, all_)
    return all_


async def delete_record(kube: Kube, addon: str) -> None:
    """Delete the record: none of its objects is left."""
    try:
        await kube.delete(CONFIGMAPS, _name(addon), NAMESPACE)
    except NotFound:
        return


async def _preexisting(kube: Kube, new: Iterable[OwnedObject]) -> list[OwnedObject]:
    """The objects that exist and were created by no add-on, even if an add-on has them by now."""
    owners = {one: whose for one in new if (whose := await _owner(kube, one)) is not None}
    known = {one for each in (await read_records(kube)).values() for one in each.found} if owners else set()
    return [one for one, whose in owners.items() if not whose or one in known]


async def _owner(kube: Kube, one: OwnedObject) -> str | None:
    """The add-on that owns the object; None if it does not exist."""
    try:
        return owner((await read_object(kube, one))[1])
    except NotFound:
        return None


async def _write(kube: Kube, addon: str, kept: InventoryRecord) -> None:
    meta = {"name": _name(addon), "namespace": NAMESPACE, "labels": {LABEL: addon}}
    lists = {OBJECTS: kept.has, FOUND: kept.found}
    data = {key: msgspec.json.encode(value).decode() for key, value in lists.items()}
    await kube.apply(CONFIGMAPS, {"metadata": meta, "data": data}, manager=MANAGER)


def _name(addon: str) -> str:
    return f"alate-addon-{addon}"


def _read(kept: Object) -> InventoryRecord:
    """Records of earlier releases say nothing about objects that existed before."""
    lists = (kept["data"][key] for key in (OBJECTS, FOUND))
    return InventoryRecord(*(msgspec.json.decode(text, type=tuple[OwnedObject, ...]) for text in lists))
