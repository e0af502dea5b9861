"""Whether a server still stores messages, known from the last publish to each stream.

A stream whose write failed once, for want of room, stores nothing more until its server is started again.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import NamedTuple

from events.bus import Conflict, Unavailable
from events.errors import Denied
from events.streams import STREAMS
from schemas.subjects import matcher

UNSTORED = "the bus does not store"
"""What the trouble begins with."""
COUNTS = 75.0
"""Seconds a failure counts: what is insisted on waits for 30 at the most, and fails again within 30 more."""


class StoreFailure(NamedTuple):
    """A publish without an acknowledgement."""

    why: str
    until: float
    """When it no longer counts, unless it was retried."""
    connection: int
    """On which connection that was."""


class Storing:
    """The streams in which nothing could be stored since the last success.

    A publish may never be repeated: who sees that a process is not ready may send it no further requests. So a failure
    counts for a while only, and none counts on a new connection: a restarted server starts without failures.
    """

    def __init__(self, clock: Callable[[], float], connection: Callable[[], int]) -> None:
        """`clock` gives seconds that never go back, `connection` the number of the present connection."""
        self._clock = clock
        self._connection = connection
        self._failed: dict[str, StoreFailure] = {}

    @property
    def trouble(self) -> str:
        """What is not stored, and why, in one sentence; empty if all was."""
        now, connection = self._clock(), self._connection()
        return next(
            (
                f"{UNSTORED} {stream}: {failed.why}"
                for stream, failed in self._failed.items()
                if now < failed.until and failed.connection == connection
            ),
            "",
        )

    @contextmanager
    def noting(self, subject: str) -> Iterator[None]:
        """Note how a publish ends; a refusal is an answer."""
        try:
            yield
        except Unavailable as away:
            self._failed[_stream(subject)] = StoreFailure(str(away), self._clock() + COUNTS, self._connection())
            raise
        except (Conflict, Denied):
            self._stored(subject)
            raise
        self._stored(subject)

    def _stored(self, subject: str) -> None:
        if self._failed:  # it hardly ever is: a publish is to cost nothing
            self._failed.pop(_stream(subject), None)


@lru_cache(maxsize=1024)
def _stream(subject: str) -> str:
    """Where it is stored; of a stream that is not ours, the subjects."""
    own = (spec.name for spec in STREAMS if matcher(spec.taken)(subject))
    return next(own, f"{subject.partition('.')[0]}.>")
