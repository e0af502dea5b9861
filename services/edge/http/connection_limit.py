"""Limits the number of connections; over the limit, the one that has been idle longest is closed."""

from typing import Protocol

MOST = 2048
"""Connections in total."""
MOST_OF_ONE = 1024
"""Connections from one address, which may be a proxy's."""


class LimitedConnection(Protocol):
    """A connection."""

    address: str
    """The address of the client."""

    @property
    def waits(self) -> bool:
        """Whether it has sent no complete request yet: closing it loses nothing that was accepted."""
        ...

    def end(self) -> None:
        """Close it now."""
        ...


class ConnectionLimit:
    """All connections, in order of arrival."""

    def __init__(self, most: int = MOST, most_of_one: int = MOST_OF_ONE) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._by_address: dict[str, dict[LimitedConnection, None]] = {}
        self._count = 0

    def enter(self, guest: LimitedConnection) -> None:
        """Add a connection; over the limit, one that is idle is closed, or else the new one."""
        of_one = self._by_address.setdefault(guest.address, {})
        of_one[guest] = None
        self._count += 1
        if len(of_one) > self._most_of_one:
            _longest_waiting(of_one, guest).end()
        elif self._count > self._most:
            _longest_waiting(max(self._by_address.values(), key=len), guest).end()

    def leave(self, guest: LimitedConnection) -> None:
        """Remove a closed connection."""
        of_one = self._by_address.get(guest.address, {})
        if guest in of_one:
            del of_one[guest]
            self._count -= 1
        if not of_one:
            self._by_address.pop(guest.address, None)


def _longest_waiting(guests: dict[LimitedConnection, None], newcomer: LimitedConnection) -> LimitedConnection:
    return next((guest for guest in guests if guest.waits), newcomer)
