"""Limits what an API server may answer, since others run some of them."""

from dataclasses import dataclass

from events.errors import TryLater

MIB = 1 << 20
COUNTED = 8 * MIB
"""Bytes of a list from which on its values are counted, at a tenth of the time it takes to read them."""
AGAIN = 30.0
"""Seconds until a request whose answer was too large is repeated."""


class TooLarge(TryLater):
    """An answer is beyond its bounds; what is within them was thrown away with it."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The most that is read of one API server's answers."""

    answer: int
    """Bytes of one answer."""
    listed: int
    """Bytes of all pages of a list."""
    values: int
    """JSON values of one answer, and of a list: in memory the smallest has twenty times the size of its text."""
    items: int
    """Objects of a list."""
    event: int
    """Bytes of one event of a watch; etcd holds objects of up to 1.5 MiB."""
    pages: int = 10_000
    """Pages that one list may have."""


FOUNDED = Bounds(answer=64 * MIB, listed=128 * MIB, values=5_000_000, items=50_000, event=4 * MIB)
"""Of founded and lent clusters, whose API servers are their tenants': a page of 500 pods has about 5 MiB."""
MANAGEMENT = Bounds(answer=256 * MIB, listed=1024 * MIB, values=32_000_000, items=1_000_000, event=16 * MIB)
"""Of the one that we are installed in."""


def values(body: bytes) -> int:
    """At least as many as the JSON values in it."""
    return len(body) - len(body.translate(None, b",[{"))


class Tally:
    """What the pages of one list come to; any other answer is a list of one page."""

    def __init__(self, bounds: Bounds, path: str) -> None:
        """`path` names the list in sentences."""
        self._bounds = bounds
        self._path = path
        self._pages = self._bytes = self._values = self._items = 0

    def page(self, body: bytes) -> None:
        """One more, before it is read. Raises TooLarge."""
        self._pages, self._bytes = self._pages + 1, self._bytes + len(body)
        self._held("pages", self._pages, self._bounds.pages)
        self._held("bytes", self._bytes, self._bounds.listed)
        if self._bytes > COUNTED:
            self._values += values(body)
            self._held("values", self._values, self._bounds.values)

    def items(self, number: int) -> None:
        """What was in it. Raises TooLarge."""
        self._items += number
        self._held("objects", self._items, self._bounds.items)

    def _held(self, called: str, number: int, most: int) -> None:
        if number > most:
            raise TooLarge(f"the answer to {self._path} has more than {most} {called}: no more are taken", after=AGAIN)
