"""An ordered consumer that delivers what a stream keeps and then what comes, without a gap."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from datetime import datetime, timedelta

from events.bus import CaughtUp, FeedItem, Relisting, Stored, Unavailable
from events.jetstream.api import (
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
from events.jetstream.connection import ReplyQueue, Wire
from events.jetstream.provision import nanoseconds
from events.jetstream.requests import Reply, status

Policy = Mapping[str, object]
"""Where a consumer starts, as a JetStream deliver policy."""
LAST_PER_SUBJECT: Policy = {"deliver_policy": "last_per_subject"}
ALL: Policy = {"deliver_policy": "all"}
NEW: Policy = {"deliver_policy": "new"}
HEARTBEAT = 2.0
"""Seconds between heartbeats of the server; after two missed ones the consumer is lost."""
LOOK = 20.0
"""Seconds between two checks that the consumer is unchanged and delivers everything."""
LIST = 3600.0
"""Seconds after which everything is listed again, since purges are not announced."""

_log = logging.getLogger(__name__)


def stored_since(time: datetime) -> Policy:
    """Start with messages stored at that time or later."""
    return {"deliver_policy": "by_start_time", "opt_start_time": time.isoformat()}


class Feed:
    """A push consumer with flow control that is recreated whenever it is lost or differs from what was requested.

    One that gives the last of each subject lists all of them again; any other continues where it was.
    """

    def __init__(self, wire: Wire, stream: str, filters: tuple[str, ...], first: Policy) -> None:
        self._wire = wire
        self._stream = stream
        self._filters = filters
        self._first = first
        self._lists = first is LAST_PER_SUBJECT
        self._loop = asyncio.get_running_loop()
        self.trouble = ""
        """Why what it gave is not known to be all there is; empty if it is."""
        self._box: ReplyQueue | None = None
        self._last = 0
        self._born = ""
        self._order = 0
        self._kept = 0
        self._until = 0
        self._goal: int | None = None
        self._caught_up = False
        self._anew = False
        self._taken: Mapping[str, object] = {}
        """The consumer's configuration as the server took it."""
        self._look_at = self._list_at = 0.0
        self._due = 0
        """The newest message there was at the last look: by the next one it must have come."""

    async def run(self) -> AsyncGenerator[FeedItem, None]:
        """All messages, until the bus is closed."""
        try:
            await self._begin()
            while not self._wire.closed:
                if self._anew:
                    self._anew = False
                    yield Relisting()
                if self._kept <= 0 and not self._caught_up:
                    self._caught_up, self.trouble = True, ""
                    yield CaughtUp()
                msg = await self._mail.get(2 * HEARTBEAT)
                if msg is None:
                    await self._begin_again("its consumer is silent")
                elif status(msg):
                    await self._control(msg)
                elif stored := await self._delivered(msg):
                    yield stored
                await self._look()
        finally:
            await self._end()

    @property
    def _mail(self) -> ReplyQueue:
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
        self._taken, self._due = info.config, 0
        self._look_at, self._list_at = self._loop.time() + LOOK, self._loop.time() + LIST

    async def _begin_again(self, why: str = "") -> None:
        """Create the consumer again, retrying until it succeeds."""
        if why and not self._wire.closed:
            self.trouble = f"what {self._stream} keeps on {', '.join(self._filters) or '>'} is read anew: {why}"
        if self._lists:
            self._anew, self._caught_up, self._last = True, False, 0
        tries = self._wire.tries()
        while not self._wire.closed:
            try:
                await self._wire.up()
                await self._begin()
            except Unavailable:
                await asyncio.sleep(tries.next_delay())
            else:
                self.trouble = "" if self._caught_up else self.trouble
                return

    async def _look(self) -> None:
        """Check periodically that the consumer is unchanged and that everything was delivered."""
        if self._loop.time() < self._look_at or not self._caught_up:
            return
        self._look_at = self._loop.time() + LOOK
        if why := await self._wrong():
            _log.warning("the feed of %s begins again: %s", self._stream, why)
            await self._begin_again(why)
        elif self._lists and self._loop.time() >= self._list_at:
            await self._begin_again()

    async def _wrong(self) -> str:
        name = f"{self._stream}.{self._taken['name']}"
        try:
            info = await call(self._wire, f"CONSUMER.INFO.{name}", None, ConsumerInfo)
            due, self._due = self._due, await self._newest()
        except Refused as no:
            return str(no)
        except Unavailable:  # then its silence is noticed
            return ""
        if info.config != self._taken:
            return "somebody changed its consumer"
        silent = due > self._last and not len(self._mail) and not info.num_pending
        return f"message {due} never came" if silent else ""

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
        if self._caught_up and self._born == before and not self._lists:
            return {"deliver_policy": "by_start_sequence", "opt_start_seq": self._last + 1}
        return self._first

    async def _delivered(self, msg: Reply) -> Stored | None:
        where = place(msg.reply)
        if where.order != self._order + 1:
            await self._begin_again("a message was lost")
            return None
        self._order = where.order
        self._last = where.sequence
        try:
            await self._count(where)
        except Unavailable as away:
            await self._begin_again(str(away))
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

    async def _control(self, msg: Reply) -> None:
        headers = msg.headers or {}
        stalled = headers.get("Nats-Consumer-Stalled")
        if status(msg) != "100" or int(headers.get("Nats-Last-Consumer", self._order)) != self._order:
            await self._begin_again("its consumer is lost")
        elif stalled or msg.reply:
            await self._wire.notify(stalled or msg.reply)
        else:
            self._kept = 0  # a heartbeat is only sent when there is nothing else to send

    async def _end(self) -> None:
        if self._box is None:
            return
        box, self._box = self._box, None
        await self._wire.shut(box)
        if not self._wire.closed:
            name = "feed-" + box.subject.rpartition(".")[2]
            await self._wire.notify(f"{self._wire.api}.CONSUMER.DELETE.{self._stream}.{name}")


def _nanoseconds_since_1970(info: ConsumerInfo) -> int:
    since = datetime.fromisoformat(info.created) - EPOCH
    return since // timedelta(microseconds=1) * 1000
