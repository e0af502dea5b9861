"""Requests that wait for their replies by number, mailboxes for replies of many parts, and refusals of permission."""

import asyncio
import itertools
import re
from collections import deque
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from nats.aio.msg import Msg
from nats.js.api import Header

from events.errors import Denied

Reply = Msg
"""A message as it comes from the wire."""

LOOK = 0.75
"""Seconds between two looks at whose time is up: one timer for all costs a question next to nothing."""


class RequestLost(Exception):
    """A question stayed without an answer; the next try may have one."""


def status(msg: Reply) -> str:
    """The three digits of a control message, or nothing for a message with contents."""
    return (msg.headers or {}).get(Header.STATUS.value, "")


class PendingRequests:
    """What one connection has asked."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._numbers = itertools.count(1)
        self._out: dict[str, tuple[float, asyncio.Future[Reply], str]] = {}
        self._looking: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._out)

    def number(self) -> str:
        """A number nobody had before."""
        return str(next(self._numbers))

    def ask(self, number: str, subject: str, until: float) -> asyncio.Future[Reply]:
        """What the answer will be, or `RequestLost` soon after the loop's time is `until`; to be `forgotten` then."""
        future: asyncio.Future[Reply] = self._loop.create_future()
        self._out[number] = (until, future, subject)
        if self._looking is None:
            self._looking = self._loop.call_later(LOOK, self._look)
        return future

    def forget(self, number: str) -> None:
        """Nobody waits for it any more."""
        self._out.pop(number, None)

    def answer(self, number: str, msg: Reply) -> None:
        """An answer came; one that nobody waits for is dropped."""
        asked = self._out.get(number)
        if asked is None or asked[1].done():
            return
        if msg.headers and status(msg) == "503":
            asked[1].set_exception(RequestLost("nothing answers there"))
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
                future.set_exception(RequestLost("it takes too long"))
        self._looking = self._loop.call_later(LOOK, self._look) if self._out else None


T = TypeVar("T")


class Mailbox(Generic[T]):
    """What one subscription brought."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self._letters: deque[T | None] = deque()
        self._waiting: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        return len(self._letters)

    def put(self, letter: T | None) -> None:
        """Add a letter; None says that the connection is another one now."""
        self._letters.append(letter)
        self._wake()

    async def get(self, patience: float) -> T | None:
        """The next letter; None if the connection was renewed or nothing came for so many seconds."""
        if not self._letters:
            await self._letter(patience)
        return self._letters.popleft() if self._letters else None

    def rest(self) -> list[T]:
        """Everything that is still there, taken out."""
        letters = [letter for letter in self._letters if letter is not None]
        self._letters.clear()
        return letters

    async def _letter(self, patience: float) -> None:
        loop = asyncio.get_running_loop()
        self._waiting = loop.create_future()
        alarm = loop.call_later(patience, self._wake)
        try:
            await self._waiting
        finally:
            alarm.cancel()
            self._waiting = None

    def _wake(self) -> None:
        if self._waiting and not self._waiting.done():
            self._waiting.set_result(None)


_VIOLATION = re.compile(r'permissions violation for (publish|subscription) to "([^"]+)"', re.IGNORECASE)
REASON = "Permissions"


class Refusal(NamedTuple):
    """What the server does not let this connection do."""

    listening: bool
    """True: it may not listen there; False: it may not publish there."""
    subject: str
    """In small letters, as nats-py has it."""

    def denied(self, place: str, who: str, subject: str) -> Denied:
        """The fault, in one sentence; `subject` as it was asked for."""
        act = "listen to" if self.listening else "publish on"
        why = "the key it shows has no such right"
        return Denied(f"NATS at {place} does not allow {who} to {act} {subject}: {why}", REASON)


def refusal(error: Exception) -> Refusal | None:
    """What an error of the connection refuses, if it is a refusal."""
    found = _VIOLATION.search(str(error))
    return Refusal(found[1].lower() == "subscription", found[2].lower()) if found else None
