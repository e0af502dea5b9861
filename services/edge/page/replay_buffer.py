"""A bounded buffer of the newest messages, from which a page that lost its connection resumes."""

from collections import deque
from collections.abc import Mapping
from itertools import islice
from typing import NamedTuple

Cursor = Mapping[str, int]
"""How far a page has read: the last sequence of each stream."""


class BufferedMessage(NamedTuple):
    """One message."""

    stream: str
    sequence: int
    data: bytes
    """Its summary, as JSON."""


class ReplayBuffer:
    """The newest messages, up to a fixed number; each has an index that is never used again."""

    def __init__(self, size: int) -> None:
        self._entries: deque[BufferedMessage] = deque(maxlen=size)
        self._before: dict[str, int] = {}
        """By stream: the newest sequence that is not in the buffer any more, or never was."""
        self.cursor: dict[str, int] = {}
        """The last sequence of each stream."""
        self.end = 0
        """The index of the next message."""

    def add(self, entry: BufferedMessage) -> bool:
        """Append one message and drop the oldest if full; False for one that a restarted feed repeats."""
        if entry.sequence <= self.cursor.get(entry.stream, 0):
            return False
        self._before.setdefault(entry.stream, entry.sequence - 1)
        if len(self._entries) == self._entries.maxlen:
            self._before[self._entries[0].stream] = self._entries[0].sequence
        self._entries.append(entry)
        self.cursor[entry.stream] = entry.sequence
        self.end += 1
        return True

    def caught_up(self, stream: str, last: int) -> None:
        """Note that a stream was read up to its last message, even if none of its messages is in the buffer."""
        self._before.setdefault(stream, last)

    def clear(self) -> None:
        """Drop everything, after a time in which no stream was read."""
        self._entries.clear()
        self._before.clear()
        self.cursor.clear()
        self.end += 1

    def after(self, index: int) -> tuple[list[BufferedMessage], bool]:
        """Every message from an index on, and whether none before the first of them is missing."""
        first = self.end - len(self._entries)
        return list(islice(self._entries, max(0, index - first), None)), index >= first

    def covers(self, cursor: Cursor) -> bool:
        """Whether every message after a cursor is still in the buffer."""
        return all(cursor.get(stream, before) >= before for stream, before in self._before.items())


def format_cursor(cursor: Cursor) -> str:
    """A cursor as the id of a server-sent event: ``EVENTS=42,INTAKE=7``."""
    return ",".join(f"{stream}={sequence}" for stream, sequence in sorted(cursor.items()))


def parse_cursor(text: str) -> dict[str, int] | None:
    """The inverse; None for anything else."""
    try:
        pairs = [part.split("=") for part in text.split(",")]
        return {stream: int(sequence) for stream, sequence in pairs} if text else None
    except ValueError:
        return None
