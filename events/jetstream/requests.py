"""Questions that are out are kept here by number, each until its answer has come or its time is up."""

import asyncio
import itertools
from collections.abc import Callable

from nats.aio.msg import Msg
from nats.js.api import Header

Letter = Msg
"""A message as it comes from the wire."""

LOOK = 0.75
"""Seconds between two looks at whose time is up: one timer for all costs a question next to nothing."""


class Lost(Exception):
    """A question stayed without an answer; the next try may have one."""


def status(msg: Letter) -> str:
    """The three digits of a control message, or nothing for a message with contents."""
    return (msg.headers or {}).get(Header.STATUS.value, "")


class Questions:
    """What one connection has asked."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._numbers = itertools.count(1)
        self._out: dict[str, tuple[float, asyncio.Future[Letter], str]] = {}
        self._looking: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._out)

    def number(self) -> str:
        """A number nobody had before."""
        return str(next(self._numbers))

    def ask(self, number: str, subject: str, until: float) -> asyncio.Future[Letter]:
        """What the answer will be, or `Lost` soon after the loop's time is `until`; to be `forgotten` then."""
        future: asyncio.Future[Letter] = self._loop.create_future()
        self._out[number] = (until, future, subject)
        if self._looking is None:
            self._looking = self._loop.call_later(LOOK, self._look)
        return future

    def forget(self, number: str) -> None:
        """Nobody waits for it any more."""
        self._out.pop(number, None)

    def answer(self, number: str, msg: Letter) -> None:
        """An answer came; one that nobody waits for is dropped."""
        asked = self._out.get(number)
        if asked is None or asked[1].done():
            return
        if msg.headers and status(msg) == "503":
            asked[1].set_exception(Lost("nothing answers there"))
        else:
            asked[1].set_result(msg)

    def fail(self, why: Callable[[str], Exception | None]) -> None:
        """End each question for which there is a reason, by its subject."""
        for _, future, subject in self._out.values():
            if not future.done() and (error := why(subject)) is not None:
                future.set_exception(error)

    async def rest(self, patience: float) -> None:
        """Wait until all of them are answered, for so many seconds at most."""
        if self._out:
            await asyncio.wait([future for _, future, _ in self._out.values()], timeout=patience)

    def close(self) -> None:
        """Look no more."""
        if self._looking:
            self._looking.cancel()

    def _look(self) -> None:
        now = self._loop.time()
        for until, future, _ in self._out.values():
            if until <= now and not future.done():
                future.set_exception(Lost("it takes too long"))
        self._looking = self._loop.call_later(LOOK, self._look) if self._out else None
