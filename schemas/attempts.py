"""Commands of provisioning to a back end about one attempt, and the back end's answers."""

from schemas.placement import Attempt, Placement
from schemas.registry import WireStruct
from schemas.wish import Need, Wish


class Rank(WireStruct, frozen=True):
    """Command: rank the placements that the market offers."""

    wish: Wish
    failed_attempts: tuple[Attempt, ...]
    told: str = ""
    """The reason that was reported last for having none; the same reason is not reported again."""
    steady: bool = False
    """The cluster was interrupted too often: prefer on-demand machines unless only spot is asked for."""


class RecoverAttempt(WireStruct, frozen=True):
    """Command: reconstruct an attempt whose objects exist although its history was lost."""

    wish: Wish
    attempt: Attempt


class AttemptRecovered(WireStruct, frozen=True):
    """Answer: the reconstructed attempt."""

    attempt: int
    placement: Placement
    need: Need
    """What it was created or resized for."""
    message: str = ""
    """What could not be reconstructed, for people."""


class AttemptUnrecoverable(WireStruct, frozen=True):
    """Answer: the objects do not tell enough to continue with the attempt."""

    attempt: int
    message: str


class Launch(WireStruct, frozen=True):
    """Command: ensure that an attempt's objects exist."""

    wish: Wish
    attempt: Attempt
    uid: str
    told: str = ""
    """What it lacks, as it was told already."""


class Observe(WireStruct, frozen=True):
    """Command: read what was last observed of an attempt, as its message may have come before anyone waited for it."""

    wish: Wish
    attempt: Attempt


class Release(WireStruct, frozen=True):
    """Command: ensure that no object of an attempt exists."""

    wish: Wish
    attempt: Attempt
    told: str | None = ""
    """The blocking message that was reported last; None: nothing is reported."""


class MarketChanged(WireStruct, frozen=True):
    """Event: an offer that may fit appeared, or machines of it were released."""


class LaunchFailed(WireStruct, frozen=True):
    """Answer: an attempt has failed."""

    attempt: int
    reason: str
    message: str


class AttemptBlocked(WireStruct, frozen=True):
    """Answer: people must fix something before an attempt can be launched or released; empty: no longer."""

    attempt: int
    message: str = ""


class OrphanCreated(WireStruct, frozen=True):
    """Event: objects of an attempt were created after it stopped being the cluster's current one."""

    orphan: Attempt


class AttemptGone(WireStruct, frozen=True):
    """Answer: nothing of an attempt is left at the cloud."""

    attempt: int
    backend: str = ""
    adopts: str = ""  # what was handed back, where others had made it
