"""What provisioning asks of the world to found a cluster, to know it, to be rid of it."""

import msgspec

from schemas.cluster import Attempt
from schemas.wish import Wish


class Rank(msgspec.Struct, frozen=True):
    """Asks for the placements the market offers."""

    wish: Wish
    tried: tuple[Attempt, ...]
    told: str = ""
    """Why there are none, as it was told already: it is not told again, but asked again."""
    steady: bool = False
    """It was interrupted often enough: on demand first, where spot is not all that is asked for."""


class Launch(msgspec.Struct, frozen=True):
    """Asks that an attempt's objects exist."""

    wish: Wish
    attempt: Attempt
    uid: str
    told: str = ""
    """What it lacks, as it was told already."""


class Look(msgspec.Struct, frozen=True):
    """Asks what has been seen of an attempt already, lest its message came before anyone waited for it."""

    wish: Wish
    attempt: Attempt


class Release(msgspec.Struct, frozen=True):
    """Asks that nothing of an attempt exists."""

    wish: Wish
    attempt: Attempt
    told: str | None = ""
    """What holds it, as it was told already; None: nobody is told."""
