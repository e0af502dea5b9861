"""What a simulated controller wants done is a value, so that the controllers themselves stay pure."""

from dataclasses import dataclass
from datetime import datetime

from events.kube.client import Object, Resource


@dataclass(frozen=True, slots=True)
class Create:
    """Create an object; one that is there already is as good."""

    resource: Resource
    object: Object


@dataclass(frozen=True, slots=True)
class PatchStatus:
    """Merge this into an object's status."""

    resource: Resource
    of: Object
    status: Object


@dataclass(frozen=True, slots=True)
class Patch:
    """Merge this into an object."""

    resource: Resource
    of: Object
    patch: Object


@dataclass(frozen=True, slots=True)
class PatchBoth:
    """Merge one into an object, then the other into its status, if there is anything to merge."""

    resource: Resource
    of: Object
    patch: Object
    status: Object


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete this incarnation of an object."""

    resource: Resource
    of: Object
    grace: int | None = None
    """Seconds; None: as long as it asks for."""


@dataclass(frozen=True, slots=True)
class AddOwner:
    """Add an owner to an object that nobody here watches; one that is not there needs none."""

    kind: str
    api_version: str
    namespace: str
    name: str
    owner: Object


@dataclass(frozen=True, slots=True)
class StartApi:
    """Bring a cluster's own API to life, and keep its kubeconfig in a Secret named after the cluster."""

    place: str
    cluster: Object
    owner: Object


@dataclass(frozen=True, slots=True)
class StopApi:
    """Let a cluster's own API go, with all that is in it."""

    place: str


@dataclass(frozen=True, slots=True)
class AddNode:
    """Put a Node into a founded cluster, or correct its status."""

    place: str
    node: Object


@dataclass(frozen=True, slots=True)
class RemoveNode:
    """Take a Node out of a founded cluster."""

    place: str
    node: str


@dataclass(frozen=True, slots=True)
class RecordMachine:
    """Write into the book of a cluster's machines; what stands there already stays."""

    cluster: Object
    lines: dict[str, str]


@dataclass(frozen=True, slots=True)
class WaitUntil:
    """Nothing more to do before this time."""

    at: datetime


Change = (
    Create
    | PatchStatus
    | Patch
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
