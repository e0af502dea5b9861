"""The last things said are kept in a ring, so that whoever was cut off is told what was missed."""

from collections import deque
from collections.abc import Mapping
from itertools import islice
from typing import NamedTuple

Mark = Mapping[str, int]
"""How far somebody has heard: the last sequence of each stream."""


class Kept(NamedTuple):
    """One message."""

    stream: str
    sequence: int
    data: bytes
    """What the page is told of it, as JSON."""


class Ring:
    """At most so many messages, each with a number that goes on for ever."""

    def __init__(self, size: int) -> None:
        self._kept: deque[Kept] = deque(maxlen=size)
        self._before: dict[str, int] = {}
        self.mark: dict[str, int] = {}
        """The last sequence of each stream."""
        self.end = 0
        """The number of the next message."""

    def add(self, kept: Kept) -> bool:
        """Keep one more, for the oldest; False if it is no news: a feed that had to begin again repeats itself."""
        if kept.sequence <= self.mark.get(kept.stream, 0):
            return False
        self._before.setdefault(kept.stream, kept.sequence - 1)
        if len(self._kept) == self._kept.maxlen:
            self._before[self._kept[0].stream] = self._kept[0].sequence
        self._kept.append(kept)
        self.mark[kept.stream] = kept.sequence
        self.end += 1
        return True

    def begin(self, stream: str, last: int) -> None:
        """All up to its last message is told; where none of them is kept, they were said before."""
        self._before.setdefault(stream, last)

    def forget(self) -> None:
        """Begin anew, after a gap."""
        self._kept.clear()
        self._before.clear()
        self.mark.clear()
        self.end += 1

    def after(self, number: int) -> tuple[list[Kept], bool]:
        """Everything from a number on, and whether nothing before it is missing."""
        first = self.end - len(self._kept)
        return list(islice(self._kept, max(0, number - first), None)), number >= first

    def whole(self, mark: Mark) -> bool:
        """Whether everything said after a mark is still here."""
        return all(mark.get(stream, before) >= before for stream, before in self._before.items())


def written(mark: Mark) -> str:
    """A mark as the id of a server-sent event: ``EVENTS=42,INTAKE=7``."""
    return ",".join(f"{stream}={sequence}" for stream, sequence in sorted(mark.items()))


def read(text: str) -> dict[str, int] | None:
    """The inverse; None for anything else."""
    try:
        pairs = [part.split("=") for part in text.split(",")]
        return {stream: int(sequence) for stream, sequence in pairs} if text else None
    except ValueError:
        return None
