"""The kinds that are watched in a cluster, and the types of the fields that are read from their objects."""

from collections.abc import Mapping
from typing import Any

from events.kube.port import Resource
from events.kube.resources import NODES, PODS, STORAGECLASSES
from services.kubernetes.object_types import (
    KubeStruct,
    Meta,
    NodeObject,
    NodeTaint,
    OptionalText,
    PodObject,
    Quantities,
)

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


class StorageClass(KubeStruct):
    metadata: Meta
    provisioner: str = ""


class VolumeSpec(KubeStruct):
    storage_class_name: OptionalText = None
    capacity: Quantities = None


class Volume(KubeStruct):
    metadata: Meta
    spec: VolumeSpec | None = None


class StorageCapacity(KubeStruct):
    metadata: Meta
    storage_class_name: OptionalText = None


class SlicePool(KubeStruct):
    name: str
    generation: int = 0
    resource_slice_count: int | None = None


class DraDevice(KubeStruct):
    name: str
    node_name: OptionalText = None
    attributes: dict[str, dict[str, Any]] | None = None
    capacity: dict[str, dict[str, Any]] | None = None
    taints: list[NodeTaint] | None = None


class SliceSpec(KubeStruct):
    driver: str
    pool: SlicePool
    node_name: OptionalText = None
    devices: list[DraDevice] | None = None


class Slice(KubeStruct):
    metadata: Meta
    spec: SliceSpec


class AllocationResult(KubeStruct):
    driver: str
    pool: str
    device: str
    admin_access: bool | None = None


class AllocationResults(KubeStruct):
    results: list[AllocationResult] | None = None


class Allocation(KubeStruct):
    devices: AllocationResults | None = None


class ReservedFor(KubeStruct):
    uid: str
    name: str
    resource: OptionalText = None


class ClaimStatus(KubeStruct):
    allocation: Allocation | None = None
    reserved_for: list[ReservedFor] | None = None


class DeviceChoice(KubeStruct):
    device_class_name: str = ""


class DeviceRequest(KubeStruct):
    device_class_name: str = ""
    exactly: DeviceChoice | None = None
    first_available: list[DeviceChoice] | None = None


class DeviceRequests(KubeStruct):
    requests: list[DeviceRequest] | None = None


class ClaimSpec(KubeStruct):
    devices: DeviceRequests | None = None


class Claim(KubeStruct):
    metadata: Meta
    spec: ClaimSpec | None = None
    status: ClaimStatus | None = None


SHAPES: Mapping[Resource, type[KubeStruct]] = {
    NODES: NodeObject,
    PODS: PodObject,
    STORAGECLASSES: StorageClass,
    VOLUMES: Volume,
    CAPACITIES: StorageCapacity,
    SLICES: Slice,
    CLAIMS: Claim,
}
