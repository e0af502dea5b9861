"""What the objects of a back end show of a cluster."""

from schemas.registry import level
from schemas.wire import WireStruct


@level("observed.infra.{tenant}.{backend}.{object}", owner="gateway")
class InfraSeen(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """What the back end's object for one attempt shows now."""

    cluster: str
    uid: str
    """The cluster's incarnation, read off the object's labels."""
    attempt: int
    backend: str = ""
    """Whose object it is."""
    adopted: str = ""  # the object's name, where it was not made for the attempt
    present: bool = True
    reachable: bool = False
    """Its API answers and its kubeconfig is there."""
    deleting: bool = False
    """It is being deleted."""
    endpoint: str = ""
    """The URL of its API server, where the back end's object tells it."""
    failure: str = ""
    """A reason, once the attempt can come to nothing."""
    zoneless: bool = False
    """No zone was asked for: what it fails for is so in all of the region."""
    kubeconfig: str = ""
    """The Secret that opens it, where it stood before and was lent; empty: one of the object's own name."""
    credential: str = ""
    """The Credential that must name that Secret; empty: nothing is lent."""
    message: str = ""
    """What the back end says of its progress, for people."""


class Remains(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of a cluster that has no history: it was lost, or never was."""

    found: tuple[InfraSeen, ...] = ()
    """The back ends' objects that bear its marks, and are not being deleted."""
    ended: str = ""
    """Why it is over, as its Colony's status tells; empty: the status shows no end."""
