"""What a simulated controller wants done is a value, so that the controllers themselves stay pure."""

from dataclasses import dataclass
from datetime import datetime

from events.kube.client import Object, Resource


@dataclass(frozen=True, slots=True)
class Make:
    """Create an object; one that is there already is as good."""

    resource: Resource
    object: Object


@dataclass(frozen=True, slots=True)
class Say:
    """Merge this into an object's status."""

    resource: Resource
    of: Object
    status: Object


@dataclass(frozen=True, slots=True)
class Edit:
    """Merge this into an object."""

    resource: Resource
    of: Object
    patch: Object


@dataclass(frozen=True, slots=True)
class Write:
    """Merge one into an object, then the other into its status, if there is anything to merge."""

    resource: Resource
    of: Object
    patch: Object
    status: Object


@dataclass(frozen=True, slots=True)
class End:
    """Delete this incarnation of an object."""

    resource: Resource
    of: Object
    grace: int | None = None
    """Seconds; None: as long as it asks for."""


@dataclass(frozen=True, slots=True)
class Adopt:
    """Add an owner to an object that nobody here watches; one that is not there needs none."""

    kind: str
    api_version: str
    namespace: str
    name: str
    owner: Object


@dataclass(frozen=True, slots=True)
class Found:
    """Bring a cluster's own API to life, and keep its kubeconfig in a Secret named after the cluster."""

    place: str
    cluster: Object
    owner: Object


@dataclass(frozen=True, slots=True)
class Drop:
    """Let a cluster's own API go, with all that is in it."""

    place: str


@dataclass(frozen=True, slots=True)
class Join:
    """Put a Node into a founded cluster, or correct its status."""

    place: str
    node: Object


@dataclass(frozen=True, slots=True)
class Leave:
    """Take a Node out of a founded cluster."""

    place: str
    node: str


@dataclass(frozen=True, slots=True)
class Bill:
    """Write into the book of a cluster's machines; what stands there already stays."""

    cluster: Object
    lines: dict[str, str]


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing more to do before this time."""

    at: datetime


Change = Make | Say | Edit | Write | End | Adopt | Found | Drop | Join | Leave | Bill | Wait
