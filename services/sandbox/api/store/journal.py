"""The journal of the store: each change is durable before anybody sees it."""

from itertools import count
from typing import Protocol

from events.bus import Bus, Message
from events.streams import StreamSpec, tips, tombstone

KUBE = StreamSpec("KUBE", ("kube.>",), per_subject=1)
"""The stream of `BusJournal`: the last version of every object, and for a while the tombstones of deleted ones."""
CLUSTER = 1
"""Dots in ``kube.<cluster>``, the subject of a deleted cluster."""


class Journal(Protocol):
    """Remembers the last bytes of every subject, in one order over all subjects."""

    async def append(self, subject: str, data: bytes) -> int:
        """Store the data, or a tombstone if it is empty.

        Returns the new revision, higher than any before. Raises `Unavailable`.
        """
        ...

    async def load(self) -> list[tuple[str, int, bytes]]:
        """The last entry of each subject that is not deleted (subject, revision, data), by revision."""
        ...

    async def head(self) -> int:
        """The highest revision so far, tombstones included. Raises `Unavailable`."""
        ...

    async def drop(self, cluster: str) -> None:
        """Delete everything below ``kube.<cluster>``. Raises `Unavailable`."""
        ...


class MemoryJournal:
    """A journal in memory; give it to a second store to simulate a restart."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, bytes]] = {}
        self._revision = 0

    async def append(self, subject: str, data: bytes) -> int:
        self._revision += 1
        self._last.pop(subject, None)  # the dict's order is the order of revisions
        if data:
            self._last[subject] = (self._revision, data)
        return self._revision

    async def load(self) -> list[tuple[str, int, bytes]]:
        return [(subject, revision, data) for subject, (revision, data) in self._last.items()]

    async def head(self) -> int:
        return self._revision

    async def drop(self, cluster: str) -> None:
        for subject in [s for s in self._last if s.startswith(f"{cluster}.")]:
            del self._last[subject]


class BusJournal:
    """A journal on the stream KUBE: a revision is the stream's sequence, so it never goes back."""

    def __init__(self, bus: Bus, incarnation: str) -> None:
        """`incarnation` differs at every start, so that a repeated write can be told from a new one."""
        self._bus = bus
        self._incarnation = incarnation
        self._writes = count()

    async def append(self, subject: str, data: bytes) -> int:
        # With a message id the bus may repeat itself: stored once, however often it is said.
        message = Message(subject, data) if data else tombstone(subject)
        return await self._bus.publish(message, msg_id=f"{self._incarnation}.{next(self._writes)}")

    async def load(self) -> list[tuple[str, int, bytes]]:
        found = await tips(self._bus, "KUBE", "kube.>")
        dropped = {item.subject: item.sequence for item in found if item.subject.count(".") == CLUSTER}
        kept = []
        for item in found:
            if item.sequence < dropped.get(_cluster(item.subject), 0):
                await self._bus.drop("KUBE", item.sequence)  # a server that was killed took it up again
            elif item.data:
                kept.append((item.subject, item.sequence, item.data))
        return kept

    async def head(self) -> int:
        newest = await self._bus.last("KUBE", "kube.>")
        return newest.sequence if newest else 0

    async def drop(self, cluster: str) -> None:
        # First the word that it is gone: a purge alone would not outlive a server that is killed (`events.streams`).
        await self.append(cluster, b"")
        await self._bus.purge("KUBE", f"{cluster}.>")


def _cluster(subject: str) -> str:
    return ".".join(subject.split(".", 2)[:2])
