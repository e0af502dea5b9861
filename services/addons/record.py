"""Records an add-on's objects on its cluster, so that they can be deleted once no Colony names them."""

from collections.abc import Iterable, Mapping

import msgspec

from events.errors import NotFound
from events.kube.client import Kube, Object
from events.kube.resources import CONFIGMAPS
from services.addons.objects.apply_set import ID, hints, set_id
from services.addons.objects.managed_fields import settled
from services.addons.owned_objects import OwnedObject, owner_label
from services.kubernetes.labels import GROUP, MANAGER

NAMESPACE = "kube-system"
LABEL = f"{GROUP}/belongings"
"""On the records, with the add-on's name as `owner_label` writes it."""
OBJECTS, FOUND, PRIORITY, RELEASE, KEEP_WHILE = "objects", "found", "priority", "release", "keepWhile"
"""The keys of a record."""
DEFAULT_PRIORITY = 100


class InventoryRecord(msgspec.Struct, frozen=True):
    """What an add-on has on a cluster."""

    has: tuple[OwnedObject, ...] = ()
    """In the order it was written."""
    found: tuple[OwnedObject, ...] = ()
    """The objects that existed before any add-on had them."""
    priority: int = DEFAULT_PRIORITY
    """Of two add-ons that want one object, the lower number has it."""
    release: str = ""
    """The Helm release that it is, as ``<namespace>/<name>``; empty: its objects were written one by one."""
    keep_while: tuple[tuple[str, str], ...] = ()
    """Version and kind of objects that it looks after: it stays while there are any."""


async def read_record(kube: Kube, addon: str) -> InventoryRecord:
    """What an add-on has; empty without a record."""
    return record_of(await kept_record(kube, addon))


async def read_records(kube: Kube) -> Mapping[str, InventoryRecord]:
    """What every add-on of the cluster has, by its name as `owner_label` writes it."""
    kept = (await kube.list(CONFIGMAPS, NAMESPACE, labels=LABEL)).items
    return {each["metadata"]["labels"][LABEL]: record_of(each) for each in kept}


async def write_record(kube: Kube, addon: str, record: InventoryRecord) -> None:
    """Make the record say this, and be the parent of the add-on's ApplySet; nothing is written if it does already."""
    await rewrite_record(kube, addon, record, await kept_record(kube, addon))


async def rewrite_record(kube: Kube, addon: str, record: InventoryRecord, kept: Object | None) -> None:
    """As `write_record`, where `kept` is the record as it was read just now; None: there was none."""
    wanted = _manifest(addon, record)
    if kept is None or not settled(kept, wanted, MANAGER):
        await kube.apply(CONFIGMAPS, wanted, manager=MANAGER)


async def delete_record(kube: Kube, addon: str) -> None:
    """Delete the record: none of its objects is left."""
    try:
        await kube.delete(CONFIGMAPS, record_name(addon), NAMESPACE)
    except NotFound:
        return


def record_name(addon: str) -> str:
    """The name of the ConfigMap in `NAMESPACE`."""
    return f"alate-addon-{addon}"


def addon_set(addon: str) -> str:
    """The id of the ApplySet that an add-on's objects are."""
    return set_id(record_name(addon), NAMESPACE)


async def kept_record(kube: Kube, addon: str) -> Object | None:
    """The record as it is kept; None without one."""
    try:
        return await kube.get(CONFIGMAPS, record_name(addon), NAMESPACE)
    except NotFound:
        return None


def _manifest(addon: str, record: InventoryRecord) -> Object:
    meta = {
        "name": record_name(addon),
        "namespace": NAMESPACE,
        "labels": {LABEL: owner_label(addon), ID: addon_set(addon)},
        "annotations": hints(record.has, NAMESPACE),
    }
    data = {OBJECTS: _text(record.has), FOUND: _text(record.found), PRIORITY: str(record.priority)}
    data |= {RELEASE: record.release} if record.release else {}
    data |= {KEEP_WHILE: msgspec.json.encode(record.keep_while).decode()} if record.keep_while else {}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def _text(objects: Iterable[OwnedObject]) -> str:
    return msgspec.json.encode(tuple(objects)).decode()


def record_of(kept: Object | None) -> InventoryRecord:
    """Records of earlier releases say nothing about priorities."""
    if kept is None:
        return InventoryRecord()
    data = kept["data"]
    has, found = (msgspec.json.decode(data[key], type=tuple[OwnedObject, ...]) for key in (OBJECTS, FOUND))
    keep = msgspec.json.decode(data.get(KEEP_WHILE, "[]"), type=tuple[tuple[str, str], ...])
    return InventoryRecord(has, found, int(data.get(PRIORITY, DEFAULT_PRIORITY)), data.get(RELEASE, ""), keep)
