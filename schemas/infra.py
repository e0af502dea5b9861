"""What a back end's objects show of a cluster."""

from schemas.registry import WireStruct, level


@level("observed.infra.{tenant}.{backend}.{object}", owner="gateway")
class InfraSeen(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """The current status of the back end's object for one attempt."""

    cluster: str
    uid: str
    """The cluster's incarnation, from the object's labels."""
    attempt: int
    backend: str = ""
    """The back end that owns the object."""
    adopted: str = ""  # the object's name, where it was not made for the attempt
    present: bool = True
    reachable: bool = False
    """Its API answers and its kubeconfig exists."""
    deleting: bool = False
    """It is being deleted."""
    endpoint: str = ""
    """The URL of its API server, if the back end's object has it."""
    failure: str = ""
    """The reason once the attempt has failed; empty otherwise."""
    zoneless: bool = False
    """No zone was requested: a failure holds for the whole region."""
    kubeconfig: str = ""
    """The Secret with the kubeconfig of a lent cluster; empty: the Secret named after the object."""
    credential: str = ""
    """The Credential that must name that Secret; empty: the cluster is not lent."""
    message: str = ""
    """The back end's message about its progress, for people."""


class Remains(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """What exists of a cluster without history: the history was lost, or never existed."""

    found: tuple[InfraSeen, ...] = ()
    """The back ends' objects with its labels that are not being deleted."""
    ended: str = ""
    """Why it ended, from its Colony's status; empty: the status shows no end."""
