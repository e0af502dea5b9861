"""What a simulated controller wants to be done, as values, so that the controllers stay pure."""

from dataclasses import dataclass
from datetime import datetime

from events.kube.client import Object, Resource


@dataclass(frozen=True, slots=True)
class Create:
    """Create an object, unless it exists."""

    resource: Resource
    object: Object


@dataclass(frozen=True, slots=True)
class PatchStatus:
    """Merge this into an object's status."""

    resource: Resource
    of: Object
    status: Object


@dataclass(frozen=True, slots=True)
class PatchObject:
    """Merge this into an object."""

    resource: Resource
    of: Object
    patch: Object


@dataclass(frozen=True, slots=True)
class PatchBoth:
    """Merge a patch into an object, then one into its status, each if it is not empty."""

    resource: Resource
    of: Object
    patch: Object
    status: Object


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete an object with this uid."""

    resource: Resource
    of: Object
    grace: int | None = None
    """Seconds; None: the object's own grace period."""


@dataclass(frozen=True, slots=True)
class AddOwner:
    """Add an owner to an object that is not watched here, if it exists."""

    kind: str
    api_version: str
    namespace: str
    name: str
    owner: Object


@dataclass(frozen=True, slots=True)
class StartApi:
    """Start a cluster's API and write its kubeconfig into a Secret named after the cluster."""

    place: str
    cluster: Object
    owner: Object


@dataclass(frozen=True, slots=True)
class StopApi:
    """Stop a cluster's API and delete everything in it."""

    place: str


@dataclass(frozen=True, slots=True)
class AddNode:
    """Create a Node in a workload cluster, or correct its status."""

    place: str
    node: Object


@dataclass(frozen=True, slots=True)
class RemoveNode:
    """Delete a Node of a workload cluster."""

    place: str
    node: str


@dataclass(frozen=True, slots=True)
class RecordMachine:
    """Add a line to the record of a cluster's machines, unless it is there."""

    cluster: Object
    lines: dict[str, str]


@dataclass(frozen=True, slots=True)
class WaitUntil:
    """Look again at this time."""

    at: datetime


Action = (
    Create
    | PatchStatus
    | PatchObject
    | PatchBoth
    | Delete
    | AddOwner
    | StartApi
    | StopApi
    | AddNode
    | RemoveNode
    | RecordMachine
    | WaitUntil
)
