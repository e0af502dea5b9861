"""Devices and their holders from ResourceSlices and ResourceClaims; an incomplete pool counts for nothing."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from events.kube.port import Object
from schemas.inventory import Device, Trouble
from services.inventory.read.labels import model_of
from services.kubernetes.resources import InvalidQuantity, milli

VENDORS = {"gpu.nvidia.com": "nvidia", "gpu.amd.com": "amd"}
"""By DRA driver; any other driver whose name begins with ``gpu.`` counts as one of accelerators, too."""
LOST = ("gpu-lost", "xid")
"""Taints (their last part) under which a device does not work."""
WHOLE = ("gpu", "amdgpu", "")
NUMA_NODES = 1024
"""As many as Linux can have (CONFIG_NODES_SHIFT is at most 10)."""


class DevicePath(NamedTuple):
    """The name of a device, as claims use it."""

    driver: str
    pool: str
    device: str


@dataclass(frozen=True)
class DevicePool:
    """All devices of one pool at one generation."""

    generation: int
    devices: Mapping[DevicePath, tuple[str, Device]]
    """Each with the node it is on."""


@dataclass
class DevicePools:
    """The newest complete generation of each pool; a newer one counts once it is published completely."""

    _whole: dict[tuple[str, str], DevicePool] = field(default_factory=dict)
    _partial: dict[tuple[str, str], Trouble] = field(default_factory=dict)
    _nodes: dict[tuple[str, str], set[str]] = field(default_factory=dict)

    def take(self, slices: Iterable[Object]) -> None:
        """Replace everything by these slices."""
        published: dict[tuple[str, str], list[Object]] = {}
        for each in slices:
            spec = each["spec"]
            if is_accelerators(spec["driver"]):
                published.setdefault((spec["driver"], spec["pool"]["name"]), []).append(spec)
        self._whole = {name: pool for name, pool in self._whole.items() if name in published}
        self._partial.clear()
        self._nodes = {name: {n for spec in specs for n in _nodes(spec)} for name, specs in published.items()}
        for name, specs in published.items():
            self._take(name, specs)

    def _take(self, name: tuple[str, str], specs: list[Object]) -> None:
        newest = max(spec["pool"].get("generation", 0) for spec in specs)
        parts = [spec for spec in specs if spec["pool"].get("generation", 0) == newest]
        expected = parts[0]["pool"].get("resourceSliceCount", len(parts))
        if len(parts) == expected:
            self._whole[name] = DevicePool(newest, dict(_devices(name, parts)))
            return
        text = (
            f"pool {name[1]} of {name[0]}: {len(parts)} of {expected} ResourceSlices of generation {newest} are there"
        )
        self._partial[name] = Trouble(reason="PoolIncomplete", message=text)

    def on(self, node: str) -> dict[DevicePath, Device]:
        """The devices on one node."""
        return {
            place: device
            for pool in self._whole.values()
            for place, (where, device) in pool.devices.items()
            if where == node
        }

    def troubles(self, node: str) -> tuple[Trouble, ...]:
        """The incomplete pools of a node."""
        return tuple(trouble for name, trouble in sorted(self._partial.items()) if node in self._nodes[name])

    @property
    def nodes(self) -> frozenset[str]:
        """Every node that has a device in some slice."""
        whole = {where for pool in self._whole.values() for where, _ in pool.devices.values()}
        return frozenset(whole.union(*self._nodes.values()))


def is_accelerators(driver: str) -> bool:
    """Whether a DRA driver's devices are accelerators."""
    return driver in VENDORS or driver.startswith("gpu.")


def _nodes(spec: Object) -> Iterator[str]:
    if spec.get("nodeName"):
        yield spec["nodeName"]
    for device in spec.get("devices") or ():
        if device.get("nodeName"):
            yield device["nodeName"]


def _devices(pool: tuple[str, str], specs: list[Object]) -> Iterator[tuple[DevicePath, tuple[str, Device]]]:
    for spec in specs:
        for each in spec.get("devices") or ():
            where = each.get("nodeName") or spec.get("nodeName")
            if where:
                yield DevicePath(*pool, each["name"]), (where, _device(pool[0], each))


def _device(driver: str, written: Object) -> Device:
    attributes = {
        key.rpartition("/")[2]: next(iter(v.values()), "") for key, v in (written.get("attributes") or {}).items()
    }
    product = str(attributes.get("productName", ""))
    profile = str(attributes.get("profile", ""))
    vendor = VENDORS.get(driver, driver.removeprefix("gpu."))
    pci_id = f"1002:{attributes['deviceID']}" if attributes.get("deviceID") and vendor == "amd" else ""
    numa = attributes.get("numaNode")
    return Device(
        id=str(attributes.get("uuid") or written["name"]),
        model=model_of(product, vendor, pci_id),
        source="dra",
        product=product,
        memory_mib=_memory(written),
        mig=profile,
        partition=str(attributes.get("partitionProfile", "")),
        driver=str(attributes.get("driverVersion", "")),
        health=_health(written),
        numa=numa if type(numa) is int and -1 <= numa < NUMA_NODES else None,
        pci=str(attributes.get("pcieRoot") or attributes.get("pciAddr") or ""),
        parent=str(attributes.get("parentUUID", "")),
    )


def _memory(written: Object) -> int:
    memory = (written.get("capacity") or {}).get("memory", {}).get("value", "0")
    try:
        return max(0, milli(str(memory))) // (1000 * 2**20)
    except InvalidQuantity:
        return 0


def _health(written: Object) -> Literal["healthy", "unhealthy", "unknown"]:
    taints = {taint["key"].rpartition("/")[2]: taint.get("effect") for taint in written.get("taints") or ()}
    if any(taints.get(key) in ("NoSchedule", "NoExecute") for key in LOST):
        return "unhealthy"
    return "unknown" if "unmonitored" in taints else "healthy"


class ClaimHolder(NamedTuple):
    """The devices that one ResourceClaim allocates, and the pods that have them."""

    places: tuple[DevicePath, ...]
    pods: tuple[str, ...]
    """UIDs of the pods that have it or wait for it."""
    names: tuple[str, ...]
    """``namespace/name`` of the pods that have it."""


def claim_holder(claim: Object) -> ClaimHolder | None:
    """The pods that hold or wait for accelerators through a claim; None if it is for something else."""
    status, meta = claim.get("status") or {}, claim["metadata"]
    results = ((status.get("allocation") or {}).get("devices") or {}).get("results") or ()
    places = tuple(
        DevicePath(each["driver"], each["pool"], each["device"])
        for each in results
        if is_accelerators(each["driver"]) and not each.get("adminAccess")
    )
    if not places and (results or not _wants(claim)):
        return None
    reserved = [each for each in status.get("reservedFor") or () if each.get("resource") == "pods"]
    owners = [each["uid"] for each in meta.get("ownerReferences") or () if each.get("kind") == "Pod"]
    names = tuple(f"{meta['namespace']}/{each['name']}" for each in reserved)
    return ClaimHolder(places, tuple(dict.fromkeys([*(each["uid"] for each in reserved), *owners])), names)


def _wants(claim: Object) -> bool:
    """Whether it asks for a class of accelerators."""
    asked = ((claim.get("spec") or {}).get("devices") or {}).get("requests") or ()
    classes = [(each.get("exactly") or each).get("deviceClassName", "") for each in asked]
    classes += [one.get("deviceClassName", "") for each in asked for one in each.get("firstAvailable") or ()]
    return any(name in VENDORS or name.startswith(("gpu.", "mig.")) for name in classes)


def with_holders(devices: Mapping[DevicePath, Device], holders: Iterable[ClaimHolder]) -> dict[DevicePath, Device]:
    """The devices with the pods that hold them.

    A partition of a listed device is only possible until somebody holds it: then the partition counts and the whole
    device does not.
    """
    by_place: dict[DevicePath, list[str]] = {}
    for each in holders:
        for place in each.places:
            by_place.setdefault(place, []).extend(each.names or ("",))
    wholes = {device.id for device in devices.values()}
    cut = {devices[place].parent for place in by_place.keys() & devices.keys()} - {""}
    return {
        place: device.but(allocated_to=tuple(sorted(set(by_place.get(place, ())) - {""})))
        for place, device in devices.items()
        if device.id not in cut and (place in by_place or device.parent not in wholes)
    }
