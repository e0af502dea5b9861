"""Shows concurrent writes in the order of their revisions."""

import asyncio
from collections.abc import Callable, Coroutine
from heapq import heappop, heappush
from itertools import count

Reveal = Callable[[int], None]
"""Makes one write visible at its revision."""


class WriteOrder:
    """Shows writes in revision order: none while one with a lower revision may still arrive."""

    def __init__(self) -> None:
        self.head = 0
        """The highest revision that is visible."""
        self._numbers = count(1)
        self._given = 0
        self._out: dict[int, None] = {}  # tickets of writes still under way, the oldest first
        self._held: list[tuple[int, int, Reveal, asyncio.Future[None]]] = []

    async def write(self, append: Coroutine[None, None, int], show: Reveal) -> int:
        """Await the append, then show it in order; returns its revision once it is visible."""
        ticket = self._given = next(self._numbers)
        self._out[ticket] = None
        try:
            revision = await append
        except BaseException:
            del self._out[ticket]
            self._release()  # others may have waited for this one
            raise
        del self._out[ticket]
        shown: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heappush(self._held, (revision, self._given, show, shown))
        self._release()
        await shown
        return revision

    def _release(self) -> None:
        while self._held and self._may_show(*self._held[0][:2]):
            revision, _, show, shown = heappop(self._held)
            self.head = revision
            show(revision)
            if not shown.done():
                shown.set_result(None)

    def _may_show(self, revision: int, given: int) -> bool:
        # The next number cannot be overtaken. Over a gap (a lost acknowledgement, a foreign message) every write
        # that was under way when this one was answered must be answered first.
        return revision == self.head + 1 or next(iter(self._out), given + 1) > given
