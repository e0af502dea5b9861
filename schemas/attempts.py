"""The conversation by which provisioning founds a cluster, knows it, is rid of it: questions first, then answers."""

from schemas.placement import Attempt, Placement
from schemas.wire import WireStruct
from schemas.wish import Need, Wish


class Rank(WireStruct, frozen=True):
    """Asks for the placements the market offers."""

    wish: Wish
    failed_attempts: tuple[Attempt, ...]
    told: str = ""
    """Why there are none, as it was told already: it is not told again, but asked again."""
    steady: bool = False
    """It was interrupted often enough: on demand first, where spot is not all that is asked for."""


class RecoverAttempt(WireStruct, frozen=True):
    """Asks what an attempt is like whose objects stand though its history was lost."""

    wish: Wish
    attempt: Attempt


class AttemptRecovered(WireStruct, frozen=True):
    """What it is like."""

    attempt: int
    placement: Placement
    need: Need
    """What it was founded or sized for."""
    message: str = ""
    """What is not known of it, for people."""


class AttemptUnrecoverable(WireStruct, frozen=True):
    """Its objects do not tell enough to go on with it."""

    attempt: int
    message: str


class Launch(WireStruct, frozen=True):
    """Asks that an attempt's objects exist."""

    wish: Wish
    attempt: Attempt
    uid: str
    told: str = ""
    """What it lacks, as it was told already."""


class Observe(WireStruct, frozen=True):
    """Asks what has been seen of an attempt already, lest its message came before anyone waited for it."""

    wish: Wish
    attempt: Attempt


class Release(WireStruct, frozen=True):
    """Asks that nothing of an attempt exists."""

    wish: Wish
    attempt: Attempt
    told: str | None = ""
    """What holds it, as it was told already; None: nobody is told."""


class MarketChanged(WireStruct, frozen=True):
    """Something that may fit is offered, or was given back."""


class LaunchFailed(WireStruct, frozen=True):
    """An attempt will come to nothing."""

    attempt: int
    reason: str
    message: str


class AttemptBlocked(WireStruct, frozen=True):
    """An attempt can be neither made nor let go before people have mended something; empty: nothing more."""

    attempt: int
    message: str = ""


class OrphanCreated(WireStruct, frozen=True):
    """An attempt's objects came to be when it was not the cluster's own any more."""

    orphan: Attempt


class AttemptGone(WireStruct, frozen=True):
    """Nothing of an attempt is left at the cloud."""

    attempt: int
    backend: str = ""
    adopts: str = ""  # what was handed back, where others had made it
