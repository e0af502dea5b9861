"""The level of a storage class: computed from its volumes and the capacity that its driver publishes."""

from collections.abc import Iterable
from typing import NamedTuple

from events.kube.port import Object
from schemas.inventory import StorageSeen, Trouble
from services.kubernetes.resources import InvalidQuantity, milli

DEFAULT = "storageclass.kubernetes.io/is-default-class"


class StorageClassRead(NamedTuple):
    """What matters of a StorageClass."""

    name: str
    provisioner: str
    default: bool


class VolumeRead(NamedTuple):
    """What matters of a PersistentVolume."""

    storage_class: str
    size: int | None
    """Bytes; None if it is not a size."""


class CapacityRead(NamedTuple):
    """What matters of a CSIStorageCapacity."""

    storage_class: str
    available: int | None
    largest: int | None


def read_class(item: Object) -> StorageClassRead:
    meta = item["metadata"]
    return StorageClassRead(
        meta["name"], item.get("provisioner", ""), (meta.get("annotations") or {}).get(DEFAULT) == "true"
    )


def read_volume(item: Object) -> VolumeRead:
    spec = item.get("spec") or {}
    return VolumeRead(spec.get("storageClassName") or "", _size((spec.get("capacity") or {}).get("storage")))


def read_capacity(item: Object) -> CapacityRead:
    available = _size(item.get("capacity"))
    largest = _size(item.get("maximumVolumeSize"))
    return CapacityRead(item.get("storageClassName") or "", available, available if largest is None else largest)


def storage_seen(
    uid: str, one: StorageClassRead, volumes: Iterable[VolumeRead], rooms: Iterable[CapacityRead]
) -> StorageSeen:
    """The level of one class; `uid` is the cluster's incarnation, the rest is that class's own."""
    listed, known = list(volumes), [room for room in rooms if room.available is not None]
    bad = sum(volume.size is None for volume in listed)
    return StorageSeen(
        uid=uid,
        storage_class=one.name,
        provisioner=one.provisioner,
        default=one.default,
        volumes=len(listed),
        allocated=sum(volume.size or 0 for volume in listed),
        available=sum(room.available or 0 for room in known) if known else None,
        largest=max((room.largest or 0 for room in known), default=None),
        degraded=tuple(_troubles(one, bad, bool(known))),
    )


def _troubles(one: StorageClassRead, bad: int, known: bool) -> Iterable[Trouble]:  # noqa: FBT001 - one fact of it
    if bad:
        text = f"{bad} volumes of class {one.name} have no size that could be read"
        yield Trouble(reason="BadQuantity", message=text, raw={"volumes": bad})
    if not known:
        text = f"driver {one.provisioner} publishes no CSIStorageCapacity: the free capacity is unknown"
        yield Trouble(reason="CapacityUnknown", message=text)


def _size(written: object) -> int | None:
    """Bytes; None if it is not a size."""
    try:
        size = milli(str(written)) // 1000
    except InvalidQuantity:
        return None
    return size if 0 <= size < 2**63 else None
