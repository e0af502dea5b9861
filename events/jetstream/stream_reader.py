"""Reads a stream page by page by direct get, without the right to create consumers.

A push consumer also takes a literal subject to deliver to, and what it delivers there, a stream of the house keeps.
"""

import asyncio
from collections.abc import AsyncGenerator
from datetime import datetime

import msgspec

from events.bus import CaughtUp, Stored, Unavailable
from events.jetstream.api import ApiError, Refused, direct, stored_direct
from events.jetstream.connection import ReplyQueue, Wire
from events.jetstream.requests import Reply, RequestLost, status

PAGE = 512
"""Messages of one request."""
POLL = 0.25
"""Seconds between two looks for what came."""
SILENCE = 3.0
"""Seconds without a message after which a page is requested again."""
END = ("204", "404")
"""Statuses that end a page: it is complete, or there is nothing."""


class StreamReader:
    """What a stream keeps on some filters and what comes, by questions alone; each filter in the stream's order."""

    def __init__(self, wire: Wire, stream: str, filters: tuple[str, ...]) -> None:
        self._wire = wire
        self._stream = stream
        self._next: dict[str, int] = dict.fromkeys(filters or (">",), 1)
        """By filter: from which sequence on nothing was seen yet."""

    async def kept(self, since: datetime | None = None) -> list[Stored]:
        """All that is kept, or what of it was stored from `since` on, oldest first. Raises Unavailable."""
        box = await self._wire.open()
        try:
            found = {each.sequence: each for name in self._next for each in await self._rest(box, name, since)}
        finally:
            await self._wire.shut(box)
        return [found[sequence] for sequence in sorted(found)]

    async def skip(self) -> None:
        """Skip all messages that exist already. Raises Unavailable."""
        newest = await direct(self._wire, self._stream, {"last_by_subj": ">"})
        after = stored_direct(newest).sequence + 1 if newest else 1
        self._next = dict.fromkeys(self._next, after)

    async def news(self) -> AsyncGenerator[Stored, None]:
        """What comes, for ever; ends when the bus is closed."""
        tries = self._wire.tries()
        while not self._wire.closed:
            try:
                found = await self.kept()
            except Unavailable:
                await asyncio.sleep(tries.next_delay())
                continue
            tries = self._wire.tries()
            for stored in found:
                yield stored
            await asyncio.sleep(POLL)

    async def _rest(self, box: ReplyQueue, name: str, since: datetime | None) -> list[Stored]:
        found: list[Stored] = []
        tries, until = self._wire.tries(), self._wire.until()
        more = True
        begin: dict[str, object] = {"start_time": since.isoformat()} if since else {}
        while more:
            asked = {"next_by_subj": name, "batch": PAGE, **(begin or {"seq": self._next[name]})}
            try:
                page, more = await self._page(box, asked)
            except RequestLost as lost:
                if asyncio.get_running_loop().time() >= until:
                    raise Unavailable(f"NATS at {self._wire.place} does not give {self._stream}: {lost}") from lost
                await asyncio.sleep(tries.next_delay())
                continue
            if page:
                self._next[name], begin = page[-1].sequence + 1, {}
                until = self._wire.until()
            found += page
        return found

    async def _page(self, box: ReplyQueue, asked: dict[str, object]) -> tuple[list[Stored], bool]:
        """One page, and whether there is more. Raises Lost, Denied."""
        box.rest()
        page: list[Stored] = []
        subject = f"{self._wire.api}.DIRECT.GET.{self._stream}"
        await self._wire.notify(subject, msgspec.json.encode(asked), box.subject)
        while True:
            letter = await box.get(SILENCE)
            if letter is None:
                raise RequestLost("it takes too long")
            if not (code := status(letter)):
                page.append(stored_direct(letter))
            elif code in END:
                return page, code == "204" and _pending(letter) > 0
            else:
                raise Refused(ApiError(int(code), 0, "a page"), self._stream).denied()


def _pending(letter: Reply) -> int:
    return int((letter.headers or {}).get("Nats-Num-Pending", "0"))


async def feed(wire: Wire, stream: str, filters: tuple[str, ...]) -> AsyncGenerator[Stored | CaughtUp, None]:
    """The last message of every subject, `CaughtUp`, then all that comes, for ever."""
    look = StreamReader(wire, stream, filters)
    newest = {each.subject: each for each in await look.kept()}
    for stored in sorted(newest.values(), key=lambda each: each.sequence):
        yield stored
    yield CaughtUp()
    async for stored in look.news():
        yield stored


async def follow(
    wire: Wire, stream: str, filters: tuple[str, ...], since: datetime | None
) -> AsyncGenerator[Stored | CaughtUp, None]:
    """Every message stored from `since` on (None: none), `CaughtUp`, then all that comes, for ever."""
    look = StreamReader(wire, stream, filters)
    await look.skip()  # also of a filter under which nothing was stored since, what is older is no news
    for stored in await look.kept(since) if since else ():
        yield stored
    yield CaughtUp()
    async for stored in look.news():
        yield stored
