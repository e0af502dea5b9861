"""Closes TLS connections that aiohttp leaves half closed."""

import asyncio
from contextlib import suppress
from socket import SHUT_RDWR, socket
from weakref import WeakSet

from aiohttp import AddrInfoType

from events.http.addresses import Reach, check

GRACE = 1.0
"""Seconds in which the loop must have released closed sockets."""
LOOK = 0.001
"""Seconds between two looks at them."""


class Sockets:
    """Every socket of one session; none outlives `close`.

    A watch that is left ends with TLS's good-bye, which the peer may answer late or, being dead, never. aiohttp (3.14)
    aborts only what it holds when a session is closed, not what it is still closing: https://github.com/aio-libs/aiohttp/pull/11148.
    """

    def __init__(self, reach: Reach | None = None) -> None:
        """None: they may lead anywhere."""
        self._made: WeakSet[socket] = WeakSet()
        self._reach = reach

    def make(self, address: AddrInfoType) -> socket:
        """A socket for that address: an aiohttp connector's ``socket_factory``. Raises Unreachable."""
        family, kind, protocol, _, where = address
        check(self._reach, str(where[0]))
        made = socket(family, kind, protocol)
        self._made.add(made)
        return made

    async def close(self) -> None:
        """Shut what is still open, and wait until its transport has seen it."""
        left = [each for each in self._made if _shut(each)]
        with suppress(TimeoutError):  # whoever does not read, does not see it before TLS gives the peer up
            async with asyncio.timeout(GRACE):
                while any(each.fileno() != -1 for each in left):  # noqa: ASYNC110 - a transport tells only its protocol
                    await asyncio.sleep(LOOK)


def _shut(one: socket) -> bool:
    """Whether it was open."""
    try:
        one.shutdown(SHUT_RDWR)
    except OSError:  # closed, or not connected: whoever is connecting closes it
        return False
    return True
