"""One consumer gives first what a stream keeps, then what comes, so that nothing falls between the two."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from datetime import datetime, timedelta

from events.bus import CaughtUp, Stored, Unavailable
from events.jetstream_api import (
    EPOCH,
    ConsumerInfo,
    Place,
    Refused,
    StreamInfo,
    call,
    direct,
    place,
    stored_delivered,
    stored_direct,
)
from events.jetstream_questions import Letter, status
from events.jetstream_setup import nanoseconds
from events.jetstream_wire import Post, Wire

Policy = Mapping[str, object]
"""Where a consumer begins, in JetStream's words."""
LAST_PER_SUBJECT: Policy = {"deliver_policy": "last_per_subject"}
ALL: Policy = {"deliver_policy": "all"}
NEW: Policy = {"deliver_policy": "new"}
HEARTBEAT = 2.0
"""Seconds between signs of life from the server; two missed mean that the consumer is lost."""


def stored_since(time: datetime) -> Policy:
    """Begin with what was stored at that time or later."""
    return {"deliver_policy": "by_start_time", "opt_start_time": time.isoformat()}


class Feed:
    """A push consumer with flow control that is made anew, from where it stood, whenever it is lost."""

    def __init__(self, wire: Wire, stream: str, filters: tuple[str, ...], first: Policy) -> None:
        self._wire = wire
        self._stream = stream
        self._filters = filters
        self._first = first
        self._box: Post | None = None
        self._last = 0
        self._born = ""
        self._order = 0
        self._kept = 0
        self._until = 0
        self._goal: int | None = None
        self._caught_up = False

    async def run(self) -> AsyncGenerator[Stored | CaughtUp, None]:
        """Everything, for ever; ends when the bus is closed."""
        try:
            await self._begin()
            while not self._wire.closed:
                if self._kept <= 0 and not self._caught_up:
                    self._caught_up = True
                    yield CaughtUp()
                msg = await self._mail.get(2 * HEARTBEAT)
                if msg is None:
                    await self._begin_again()
                elif status(msg):
                    await self._control(msg)
                elif stored := await self._delivered(msg):
                    yield stored
        finally:
            await self._end()

    @property
    def _mail(self) -> Post:
        if self._box is None:
            raise Unavailable(f"the feed of {self._stream} was ended")
        return self._box

    async def _begin(self) -> None:
        await self._end()
        self._box = await self._wire.open()
        self._order, self._goal = 0, None
        try:
            config = {**self._config(self._box.subject), **await self._from()}
            body = {"stream_name": self._stream, "config": config, "action": "create"}
            info = await call(self._wire, f"CONSUMER.CREATE.{self._stream}.{config['name']}", body, ConsumerInfo)
        except Refused as no:
            raise Unavailable(str(no)) from no
        self._last = max(self._last, info.delivered.stream_seq if self._first is NEW else 0)
        self._kept = info.num_pending
        self._until = _nanoseconds_since_1970(info)

    async def _begin_again(self) -> None:
        """Never gives up: whoever listens has nothing better to do than to wait with us."""
        tries = self._wire.tries()
        while not self._wire.closed:
            try:
                await self._wire.up()
                await self._begin()
            except Unavailable:
                await asyncio.sleep(tries.failed())
            else:
                return

    def _config(self, subject: str) -> dict[str, object]:
        return {
            "name": "feed-" + subject.rpartition(".")[2],
            "deliver_subject": subject,
            "ack_policy": "none",
            "flow_control": True,
            "idle_heartbeat": nanoseconds(HEARTBEAT),
            "inactive_threshold": nanoseconds(5 * HEARTBEAT),
            "mem_storage": True,
            "num_replicas": 1,
            "filter_subjects": list(self._filters),
        }

    async def _from(self) -> Policy:
        # A stream made anew under the old name counts from 1 again: only its birthday tells them apart.
        before, self._born = (
            self._born,
            (await call(self._wire, f"STREAM.INFO.{self._stream}", None, StreamInfo)).created,
        )
        if self._caught_up and self._born == before:
            return {"deliver_policy": "by_start_sequence", "opt_start_seq": self._last + 1}
        return self._first

    async def _delivered(self, msg: Letter) -> Stored | None:
        where = place(msg.reply)
        if where.order != self._order + 1:
            await self._begin_again()
            return None
        self._order = where.order
        self._last = where.sequence
        try:
            await self._count(where)
        except Unavailable:
            await self._begin_again()
            return None
        return stored_delivered(msg, where)

    async def _count(self, where: Place) -> None:
        self._kept -= where.time <= self._until
        if self._kept > 0 and self._goal is None and (where.time > self._until or where.pending == 0):
            # Some of what was kept has been replaced or purged meanwhile: whatever replaced it is stored by now.
            self._goal = await self._newest()
        if self._goal is not None and where.sequence >= self._goal:
            self._kept = 0

    async def _newest(self) -> int:
        queries = [{"last_by_subj": subject} for subject in self._filters or (">",)]
        found = [await direct(self._wire, self._stream, query) for query in queries]
        return max((stored_direct(msg).sequence for msg in found if msg), default=0)

    async def _control(self, msg: Letter) -> None:
        headers = msg.headers or {}
        stalled = headers.get("Nats-Consumer-Stalled")
        if status(msg) != "100" or int(headers.get("Nats-Last-Consumer", self._order)) != self._order:
            await self._begin_again()
        elif stalled or msg.reply:
            await self._wire.tell(stalled or msg.reply)
        else:
            self._kept = 0  # a heartbeat is only sent when there is nothing else to send

    async def _end(self) -> None:
        if self._box is None:
            return
        box, self._box = self._box, None
        await self._wire.shut(box)
        if not self._wire.closed:
            name = "feed-" + box.subject.rpartition(".")[2]
            await self._wire.tell(f"{self._wire.api}.CONSUMER.DELETE.{self._stream}.{name}")


def _nanoseconds_since_1970(info: ConsumerInfo) -> int:
    since = datetime.fromisoformat(info.created) - EPOCH
    return since // timedelta(microseconds=1) * 1000
