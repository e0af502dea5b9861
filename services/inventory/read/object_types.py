"""What is read of each watched kind has these types: whatever has others is set aside by itself, and told."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from events.kube.port import Object, Resource
from events.kube.resources import NODES, PODS, STORAGECLASSES
from services.inventory.read.kinds import CAPACITIES, CLAIMS, SLICES, VOLUMES
from services.kubernetes.object_types import Meta, Node, Pod, Quantities, Shape, Taint, Text

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


class Capacity(Shape):
    metadata: Meta
    storage_class_name: Text = None


class SlicePool(Shape):
    name: str
    generation: int = 0
    resource_slice_count: int | None = None


class Device(Shape):
    name: str
    node_name: Text = None
    attributes: dict[str, dict[str, Any]] | None = None
    capacity: dict[str, dict[str, Any]] | None = None
    taints: list[Taint] | None = None


class SliceSpec(Shape):
    driver: str
    pool: SlicePool
    node_name: Text = None
    devices: list[Device] | None = None


class Slice(Shape):
    metadata: Meta
    spec: SliceSpec


class Result(Shape):
    driver: str
    pool: str
    device: str
    admin_access: bool | None = None


class Results(Shape):
    results: list[Result] | None = None


class Allocation(Shape):
    devices: Results | None = None


class Reserved(Shape):
    uid: str
    name: str
    resource: Text = None


class ClaimStatus(Shape):
    allocation: Allocation | None = None
    reserved_for: list[Reserved] | None = None


class Choice(Shape):
    device_class_name: str = ""


class Wanted(Shape):
    device_class_name: str = ""
    exactly: Choice | None = None
    first_available: list[Choice] | None = None


class Requests(Shape):
    requests: list[Wanted] | None = None


class ClaimSpec(Shape):
    devices: Requests | None = None


class Claim(Shape):
    metadata: Meta
    spec: ClaimSpec | None = None
    status: ClaimStatus | None = None


SHAPES: Mapping[Resource, type[Shape]] = {
    NODES: Node,
    PODS: Pod,
    STORAGECLASSES: StorageClass,
    VOLUMES: Volume,
    CAPACITIES: Capacity,
    SLICES: Slice,
    CLAIMS: Claim,
}


def reading(resource: Resource, read: Callable[[Object], T]) -> Callable[[Object], T]:
    """The same reader, before which msgspec.ValidationError is raised if anything that is read has another type."""
    shape = SHAPES[resource]

    def checked(item: Object) -> T:
        msgspec.convert(item, shape)
        return read(item)

    return checked
