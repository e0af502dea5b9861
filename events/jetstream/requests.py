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
"""A raw NATS message."""

LOOK = 0.75
"""Seconds between two checks for expired requests; one timer serves all."""


class RequestLost(Exception):
    """A request got no reply in time."""


def status(msg: Reply) -> str:
    """The three digits of a control message, or nothing for a message with contents."""
    return (msg.headers or {}).get(Header.STATUS.value, "")


class PendingRequests:
    """The pending requests of one connection."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._numbers = itertools.count(1)
        self._out: dict[str, tuple[float, asyncio.Future[Reply], str]] = {}
        self._looking: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._out)

    def number(self) -> str:
        """A new request number."""
        return str(next(self._numbers))

    def ask(self, number: str, subject: str, until: float) -> asyncio.Future[Reply]:
        """The future reply, or `RequestLost` soon after the deadline `until`; call `forget` afterwards."""
        future: asyncio.Future[Reply] = self._loop.create_future()
        self._out[number] = (until, future, subject)
        if self._looking is None:
            self._looking = self._loop.call_later(LOOK, self._look)
        return future

    def forget(self, number: str) -> None:
        """Drop a request."""
        self._out.pop(number, None)

    def answer(self, number: str, msg: Reply) -> None:
        """Resolve a request; a reply to none is dropped."""
        asked = self._out.get(number)
        if asked is None or asked[1].done():
            return
        if msg.headers and status(msg) == "503":
            asked[1].set_exception(RequestLost("nothing answers there"))
        else:
            asked[1].set_result(msg)

    def fail(self, why: Callable[[str], Exception | None]) -> None:
        """Fail each request for which `why` gives an error for its subject."""
        for _, future, subject in self._out.values():
            if not future.done() and (error := why(subject)) is not None:
                future.set_exception(error)

    async def rest(self, patience: float) -> None:
        """Wait until all requests are answered, at most so many seconds."""
        if self._out:
            await asyncio.wait([future for _, future, _ in self._out.values()], timeout=patience)

    def close(self) -> None:
        """Stop the timer."""
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
    """Messages of one subscription."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self._letters: deque[T | None] = deque()
        self._waiting: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        return len(self._letters)

    def put(self, letter: T | None) -> None:
        """Add a message; None marks a reconnect."""
        self._letters.append(letter)
        self._wake()

    async def get(self, patience: float) -> T | None:
        """The next message; None after a reconnect or after so many seconds without one."""
        if not self._letters:
            await self._letter(patience)
        return self._letters.popleft() if self._letters else None

    def rest(self) -> list[T]:
        """Remove and return all waiting messages."""
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
    """A permission that the server denied to this connection."""

    listening: bool
    """True for a subscription, False for a publish."""
    subject: str
    """In lower case, as nats-py reports it."""

    def denied(self, place: str, who: str, subject: str) -> Denied:
        """The error, in one sentence; `subject` as it was requested."""
        act = "listen to" if self.listening else "publish on"
        why = "the key it shows has no such right"
        return Denied(f"NATS at {place} does not allow {who} to {act} {subject}: {why}", REASON)


def refusal(error: Exception) -> Refusal | None:
    """The refusal in a connection error; None if it is another error."""
    found = _VIOLATION.search(str(error))
    return Refusal(found[1].lower() == "subscription", found[2].lower()) if found else None
