"""The kinds that are watched in a cluster, and the types of the fields that are read from their objects."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from events.kube.port import Object, Resource
from events.kube.resources import NODES, PODS, STORAGECLASSES
from services.kubernetes.object_types import Meta, Node, Pod, Quantities, Shape, Taint, Text

VOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
CAPACITIES = Resource("storage.k8s.io", "v1", "csistoragecapacities", "CSIStorageCapacity")
SLICES = Resource("resource.k8s.io", "v1", "resourceslices", "ResourceSlice", namespaced=False)
CLAIMS = Resource("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim")

CORE = (NODES, PODS)
"""Without both nothing is known of a cluster."""
DEVICES = (SLICES, CLAIMS)
"""Watched if the API server serves them: some accelerators are reported only here."""
STORAGE = (STORAGECLASSES, VOLUMES, CAPACITIES)
"""Watched if the API server serves them, without waiting for them."""
BESIDE = (*DEVICES, *STORAGE)
BROUGHT = {NODES: DEVICES}
"""The kinds that a change of a kind may bring, if not all of `BESIDE`: storage comes with the pods of its driver."""


T = TypeVar("T")


class StorageClass(Shape):
    metadata: Meta
    provisioner: str = ""


class VolumeSpec(Shape):
    storage_class_name: Text = None
    capacity: Quantities = None


class Volume(Shape):
    metadata: Meta
    spec: VolumeSpec | None = None


class StorageCapacity(Shape):
    metadata: Meta
    storage_class_name: Text = None


class SlicePool(Shape):
    name: str
    generation: int = 0
    resource_slice_count: int | None = None


class DraDevice(Shape):
    name: str
    node_name: Text = None
    attributes: dict[str, dict[str, Any]] | None = None
    capacity: dict[str, dict[str, Any]] | None = None
    taints: list[Taint] | None = None


class SliceSpec(Shape):
    driver: str
    pool: SlicePool
    node_name: Text = None
    devices: list[DraDevice] | None = None


class Slice(Shape):
    metadata: Meta
    spec: SliceSpec


class AllocationResult(Shape):
    driver: str
    pool: str
    device: str
    admin_access: bool | None = None


class AllocationResults(Shape):
    results: list[AllocationResult] | None = None


class Allocation(Shape):
    devices: AllocationResults | None = None


class ReservedFor(Shape):
    uid: str
    name: str
    resource: Text = None


class ClaimStatus(Shape):
    allocation: Allocation | None = None
    reserved_for: list[ReservedFor] | None = None


class DeviceChoice(Shape):
    device_class_name: str = ""


class DeviceRequest(Shape):
    device_class_name: str = ""
    exactly: DeviceChoice | None = None
    first_available: list[DeviceChoice] | None = None


class DeviceRequests(Shape):
    requests: list[DeviceRequest] | None = None


class ClaimSpec(Shape):
    devices: DeviceRequests | None = None


class Claim(Shape):
    metadata: Meta
    spec: ClaimSpec | None = None
    status: ClaimStatus | None = None


SHAPES: Mapping[Resource, type[Shape]] = {
    NODES: Node,
    PODS: Pod,
    STORAGECLASSES: StorageClass,
    VOLUMES: Volume,
    CAPACITIES: StorageCapacity,
    SLICES: Slice,
    CLAIMS: Claim,
}


def checked_reader(resource: Resource, read: Callable[[Object], T]) -> Callable[[Object], T]:
    """A reader that first raises msgspec.ValidationError if a field has another type."""
    shape = SHAPES[resource]

    def checked(item: Object) -> T:
        msgspec.convert(item, shape)
        return read(item)

    return checked
