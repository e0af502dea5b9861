"""Watches that outlive their connections: after a break they list again, so that no change is missed."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace

import msgspec

from events.backoff import Backoff
from events.errors import Denied, Fault, TryLater
from events.kube.port import (
    Changed,
    Expired,
    Listed,
    Lost,
    Object,
    Request,
    Response,
    Sight,
    Transport,
    fault_in,
    fault_of,
    named,
)
from schemas.registry import UNREADABLE

LIFETIME = 300
"""Seconds after which the server is asked to end a watch; up to a tenth less, so that not all end at once."""
HEARD = 30.0
"""Seconds a connection without events must have lasted to count as working; longer than a server may take to answer."""


class _Event(msgspec.Struct):
    type: str
    object: Object


class _Failure(msgspec.Struct):
    object: msgspec.Raw


_event = msgspec.json.Decoder(_Event)
_failure = msgspec.json.Decoder(_Failure)


@asynccontextmanager
async def _open(lines: AsyncIterator[bytes | Response]) -> AsyncIterator[AsyncIterator[bytes | Response]]:
    """Close the connection even if the watcher stops early."""
    try:
        yield lines
    finally:
        close = getattr(lines, "aclose", None)  # the port asks for an iterator; generators can be closed
        if close is not None:
            await close()


@dataclass
class Watch:
    """One list-and-watch: its resource version, and whether the connection works."""

    transport: Transport
    relist: Callable[[], Awaitable[Listed]]
    request: Request
    """The watch to send, without its version and lifetime."""
    backoff: Backoff
    version: str | None = None
    """Where to resume; None: a new list is needed."""
    lost: bool = field(default=False, init=False)
    partial: bool = field(default=False, init=False)
    """Some items of the last list were left out."""

    async def sights(self) -> AsyncGenerator[Sight, None]:
        """Lists, changes and interruptions, without end."""
        while True:
            try:
                async with aclosing(self._heard()) as heard:
                    async for sight in heard:
                        yield sight
                continue
            except Fault as caught:
                fault = caught
            wait = self.backoff.next_delay(fault.after if isinstance(fault, TryLater) else 0.0)
            if self._deaf(fault):
                self.lost = True
                yield Lost(str(fault), refused=isinstance(fault, Denied))
            # The first 410 is the server's ordinary way to say "list anew": no reason to wait.
            if not (isinstance(fault, Expired) and self.backoff.failures == 1):
                await asyncio.sleep(wait)

    def _deaf(self, fault: Fault) -> bool:
        """Whether to report this failure: only once, and not if resuming or listing again resolves it."""
        if self.version is not None and self.backoff.failures == 1 and not isinstance(fault, Expired):
            return False
        self.version = None
        return not (self.lost or isinstance(fault, Expired))

    async def _heard(self) -> AsyncGenerator[Sight, None]:
        if self.version is None:
            listed = await self.relist()
            self.version, self.lost, self.partial = listed.resource_version, False, listed.nameless > 0
            yield listed
        clock, heard = asyncio.get_running_loop().time, False
        started = clock()
        try:
            async with _open(self.transport.stream(self._next())) as lines:
                async for line in lines:
                    change = self._read(line)
                    heard, self.backoff.failures = True, 0
                    if change:
                        yield change
        finally:
            if clock() - started >= HEARD:
                heard, self.backoff.failures = True, 0
        if self.partial:  # of what had no name nobody can say whether it has one now: only a list can
            self.version = None
        if not heard:
            raise TryLater("the API server ended the watch before it said anything", after=0.0)

    def _next(self) -> Request:
        lifetime = str(round(LIFETIME * (1 - 0.1 * self.backoff.random())))
        query = {"resourceVersion": self.version or "", "timeoutSeconds": lifetime}
        return replace(self.request, query={**self.request.query, **query})

    def _read(self, line: bytes | Response) -> Changed | None:
        """Decode one event; raises the fault of a refusal or an ERROR event."""
        if isinstance(line, Response):
            raise fault_of(self.request, line)
        try:
            event = _event.decode(line)
            if event.type == "ERROR":
                raise fault_in(bytes(_failure.decode(line).object))
            self.version = str(event.object["metadata"]["resourceVersion"])
            if event.type != "BOOKMARK":
                named(event.object)
        except (*UNREADABLE, KeyError, TypeError) as error:
            raise TryLater(f"the watch said what is no event: {error}", after=0.0) from error
        return None if event.type == "BOOKMARK" else Changed(event.object, gone=event.type == "DELETED")
