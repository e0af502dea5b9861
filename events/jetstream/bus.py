"""The bus on NATS JetStream; `connect` opens one."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from datetime import datetime

from events.bus import CaughtUp, Consumer, ConsumerLag, Delivery, Expect, FeedItem, Message, Relisting, Stored, Timer
from events.jetstream import stream_reader
from events.jetstream.api import (
    ApiReply,
    Purged,
    Refused,
    call,
    direct,
    publish,
    read_ack,
    stored_direct,
    timer_headers,
)
from events.jetstream.connection import Wire, dial
from events.jetstream.credentials import API, NOBODY, NkeyCredentials
from events.jetstream.feed import ALL, LAST_PER_SUBJECT, NEW, Feed, stored_since
from events.jetstream.provision import durables, ensure_consumer, ensure_stream
from events.jetstream.pull import Pull
from events.jetstream.responder import ask, serve
from events.jetstream.store_health import Storing
from events.jetstream.stream_reader import StreamReader
from events.meters import Meters
from events.rpc import RpcService
from events.streams import STREAMS, StreamSpec


async def connect(  # noqa: PLR0913 - where to, as whom, and what comes in from outside
    url: str,
    *,
    name: str,
    streams: Iterable[StreamSpec] = STREAMS,
    credentials: NkeyCredentials = NOBODY,
    patience: float = 30.0,
    meters: Meters | None = None,
) -> "JetStreamBus":
    """Connect, and make the streams that are absent.

    `name` is shown by the server and begins the inbox (``_INBOX_<name>``) unless the credentials say otherwise, so that
    permissions can name it.
    `patience` is how many seconds a call is repeated; `meters` take the dead letters of our consumers.
    Raises `Unavailable` within a few seconds if nobody answers at the url, `Denied` if the server refuses a stream or
    the credentials are none.
    """
    wire = await dial(url, name, credentials, patience)
    try:
        for spec in streams:
            await ensure_stream(wire, spec)
    except BaseException:
        await wire.close()
        raise
    return JetStreamBus(wire, meters or Meters())


class JetStreamBus:
    """See `events.bus.Bus`."""

    def __init__(self, wire: Wire, meters: Meters) -> None:
        self._wire = wire
        self._apart = wire.api != API
        self._meters = meters
        self._pulls: set[Pull] = set()
        self._followed: set[Feed] = set()
        self._storing = Storing(asyncio.get_running_loop().time, lambda: wire.renewed)

    async def publish(
        self,
        message: Message,
        *,
        expect: Expect | None = None,
        cancels: str | None = None,
        msg_id: str | None = None,
        within: float | None = None,
    ) -> int:
        """See the port; also raises `Denied` for a message larger than the server takes."""
        with self._storing.noting(message.subject):
            return await publish(self._wire, message, expect=expect, cancels=cancels, msg_id=msg_id, within=within)

    async def last(self, stream: str, subject_filter: str) -> Stored | None:
        """See the port."""
        msg = await direct(self._wire, stream, {"last_by_subj": subject_filter})
        return stored_direct(msg) if msg else None

    async def feed(self, stream: str, *filters: str) -> AsyncGenerator[FeedItem, None]:
        """See the port."""
        if self._apart:
            async with aclosing(stream_reader.feed(self._wire, stream, filters)) as looked:
                async for one in looked:
                    yield one
            return
        feed = Feed(self._wire, stream, filters, LAST_PER_SUBJECT)
        self._followed.add(feed)
        try:
            async with aclosing(feed.run()) as given:
                async for each in given:
                    yield each
        finally:
            self._followed.discard(feed)

    async def follow(
        self, stream: str, *filters: str, since: datetime | None = None
    ) -> AsyncGenerator[Stored | CaughtUp, None]:
        """See the port."""
        if self._apart:
            async with aclosing(stream_reader.follow(self._wire, stream, filters, since)) as looked:
                async for one in looked:
                    yield one
            return
        first = NEW if since is None else stored_since(since)
        async with aclosing(Feed(self._wire, stream, filters, first).run()) as given:
            async for each in given:
                if not isinstance(each, Relisting):
                    yield each

    async def consume(self, consumer: Consumer) -> AsyncGenerator[Delivery, None]:
        """See the port; also raises `Denied` if the server refuses the consumer."""
        pull = Pull(self._wire, consumer, self._meters)
        self._pulls.add(pull)
        try:
            async with aclosing(pull.run()) as deliveries:
                async for handed in deliveries:
                    yield handed
        finally:
            self._pulls.discard(pull)

    async def wake(self, timer: Timer) -> None:
        """See the port."""
        headers = timer_headers(timer)
        with self._storing.noting(timer.subject):
            ack = await self._wire.insist(timer.subject, b"", headers, read_ack)
        if ack.error:
            raise Refused(ack.error, timer.subject).denied()

    async def purge(self, stream: str, subject_filter: str) -> int:
        """See the port."""
        try:
            return (await call(self._wire, f"STREAM.PURGE.{stream}", {"filter": subject_filter}, Purged)).purged
        except Refused as no:
            raise no.denied() from no

    async def count(self, stream: str, subject_filter: str) -> int:
        """See the port."""
        msg = await direct(self._wire, stream, {"seq": 1, "next_by_subj": subject_filter, "batch": 1})
        return int((msg.headers or {})["Nats-Num-Pending"]) + 1 if msg else 0

    async def read(self, stream: str, subject_filter: str) -> tuple[Stored, ...]:
        """See the port."""
        if self._apart:
            return tuple(await StreamReader(self._wire, stream, (subject_filter,)).kept())
        found: dict[int, Stored] = {}
        async with aclosing(Feed(self._wire, stream, (subject_filter,), ALL).run()) as feed:
            async for stored in feed:
                if isinstance(stored, CaughtUp):
                    break
                if isinstance(stored, Relisting):
                    continue
                found[stored.sequence] = stored  # a feed that had to begin again repeats itself
        return tuple(found.values())

    async def at(self, stream: str, sequence: int) -> Stored | None:
        """See the port."""
        msg = await direct(self._wire, stream, {"seq": sequence})
        return stored_direct(msg) if msg else None

    async def drop(self, stream: str, sequence: int) -> bool:
        """See the port."""
        if await self.at(stream, sequence) is None:
            return False
        try:
            await call(self._wire, f"STREAM.MSG.DELETE.{stream}", {"seq": sequence, "no_erase": True}, ApiReply)
        except Refused as no:
            raise no.denied() from no
        return True

    async def consumers(self, stream: str) -> tuple[ConsumerLag, ...]:
        """See the port."""
        try:
            return await durables(self._wire, stream)
        except Refused as no:
            raise no.denied() from no

    async def unanswered(self, consumer: Consumer) -> int:
        """See the port; a missing consumer is created."""
        try:
            info = await ensure_consumer(self._wire, consumer)
        except Refused as no:
            raise no.denied() from no
        return info.num_pending + info.num_ack_pending

    async def answer(self, desk: RpcService) -> None:
        """See the port."""
        await serve(self._wire, desk)

    async def ask(self, subject: str, data: bytes = b"") -> bytes:
        """See the port."""
        return await ask(self._wire, subject, data)

    async def notify(self, subject: str, data: bytes) -> None:
        """See the port."""
        await self._wire.notify(subject, data)

    @property
    def trouble(self) -> str:
        """See the port."""
        troubles = (*(each.trouble for each in self._followed), *(each.trouble for each in self._pulls))
        return self._storing.trouble or next(filter(None, troubles), "")

    async def close(self) -> None:
        """See the port; unacknowledged messages are redelivered at once."""
        await asyncio.gather(*(pull.leave(unanswered=True) for pull in tuple(self._pulls)))
        await self._wire.close()
