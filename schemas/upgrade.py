"""What is said between provisioning and a back end while a cluster gets another version of Kubernetes."""

from schemas.placement import Attempt
from schemas.wire import WireStruct
from schemas.wish import Wish


class Upgrade(WireStruct, frozen=True):
    """Asks that an attempt's machines run a version, those of the control plane first."""

    wish: Wish
    """With the version that it shall run."""
    attempt: Attempt
    uid: str
    told: str
    """How far it is, as it was told already."""


class Rolling(WireStruct, frozen=True):
    """The back end has taken the version, and is not done yet."""

    attempt: int
    version: str
    message: str
    """How far it is, for people."""


class Upgraded(WireStruct, frozen=True):
    """The control plane and every worker run the version."""

    attempt: int
    version: str


class UpgradeRefused(WireStruct, frozen=True):
    """The back end will not have the version."""

    attempt: int
    version: str
    message: str
