"""Whether a server stores what it is given is known by what became of the last publish in each domain.

A stream whose write failed once, for want of room, stores nothing more until its server is started again.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from events.bus import Conflict, Unavailable
from events.faults import Denied

UNSTORED = "the bus does not store"
"""What the trouble begins with."""


class Storing:
    """What could not be stored since it last could, by the first token of its subject."""

    def __init__(self) -> None:
        self._failed: dict[str, str] = {}

    @property
    def trouble(self) -> str:
        """What is not stored, and why, in one sentence; empty if all was."""
        return next((f"{UNSTORED} {domain}.>: {why}" for domain, why in self._failed.items()), "")

    @contextmanager
    def noting(self, subject: str) -> Iterator[None]:
        """Note how a publish ends: whoever is refused was answered."""
        domain = subject.partition(".")[0]
        try:
            yield
        except Unavailable as away:
            self._failed[domain] = str(away)
            raise
        except (Conflict, Denied):
            self._failed.pop(domain, None)
            raise
        self._failed.pop(domain, None)
