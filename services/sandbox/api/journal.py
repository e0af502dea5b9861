"""Each change is written here before anyone sees it, so that a restart forgets nothing."""

from contextlib import aclosing
from itertools import count
from typing import Protocol

from events.bus import Bus, CaughtUp, Message
from events.streams import StreamSpec

KUBE = StreamSpec("KUBE", ("kube.>",), per_subject=1)
"""Where `BusJournal` keeps the last shape of every object; an empty one is the tombstone of a deleted object."""


class Journal(Protocol):
    """Remembers the last bytes of every subject, in one order over all subjects."""

    async def append(self, subject: str, data: bytes) -> int:
        """Keep the data durably; gives the new revision, higher than any before. Raises `Unavailable`."""
        ...

    async def load(self) -> list[tuple[str, int, bytes]]:
        """The last entry of each subject (subject, revision, data), ordered by revision."""
        ...

    async def purge(self, filter: str) -> None:  # noqa: A002 - the bus's own word
        """Forget every subject the filter matches (``*`` one token, a last ``>`` one or more)."""
        ...


class MemoryJournal:
    """A journal as long-lived as itself: give it to a second store and that is a restart."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, bytes]] = {}
        self._revision = 0

    async def append(self, subject: str, data: bytes) -> int:
        self._revision += 1
        self._last.pop(subject, None)  # the dict's order is the order of revisions
        self._last[subject] = (self._revision, data)
        return self._revision

    async def load(self) -> list[tuple[str, int, bytes]]:
        return [(subject, revision, data) for subject, (revision, data) in self._last.items()]

    async def purge(self, filter: str) -> None:  # noqa: A002 - the bus's own word
        exact = not {"*", ">"} & set(filter)
        for subject in [filter] if exact else [s for s in self._last if matches(filter, s)]:
            self._last.pop(subject, None)


class BusJournal:
    """A journal on the stream KUBE: a revision is the stream's sequence, so it never goes back."""

    def __init__(self, bus: Bus, incarnation: str) -> None:
        """`incarnation` is another at every start: with it, a repeated write is told from a new one."""
        self._bus = bus
        self._incarnation = incarnation
        self._writes = count()

    async def append(self, subject: str, data: bytes) -> int:
        # With a message id the bus may repeat itself: stored once, however often it is said.
        return await self._bus.publish(Message(subject, data), msg_id=f"{self._incarnation}.{next(self._writes)}")

    async def load(self) -> list[tuple[str, int, bytes]]:
        found: list[tuple[str, int, bytes]] = []
        async with aclosing(self._bus.feed("KUBE", "kube.>")) as feed:
            async for item in feed:
                if isinstance(item, CaughtUp):
                    break
                found.append((item.subject, item.sequence, item.data))
        return found

    async def purge(self, filter: str) -> None:  # noqa: A002 - the bus's own word
        await self._bus.purge("KUBE", filter)


def matches(pattern: str, subject: str) -> bool:
    """Whether a subject is one that a filter means."""
    wanted, given = pattern.split("."), subject.split(".")
    if wanted[-1] == ">":
        wanted, given = wanted[:-1], given[: len(wanted) - 1] if len(given) >= len(wanted) else []
    return len(wanted) == len(given) and all(w in ("*", g) for w, g in zip(wanted, given, strict=True))
