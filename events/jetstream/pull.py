"""Pulls messages for a durable consumer with one long request that is always outstanding."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

import msgspec

from events.bus import Consumer, Stored, Unavailable
from events.jetstream.api import Refused, place, publish, stored_delivered
from events.jetstream.connection import ReplyQueue, Wire
from events.jetstream.provision import ensure_consumer, nanoseconds
from events.jetstream.requests import Reply, status
from events.meters import DEAD_LETTERS, EXCEEDED, Meters
from events.streams import dead_letter, one_line, original

EXPIRES = 30.0
"""Seconds a pull request waits at the server."""
HEARTBEAT = 2.0
"""Seconds between heartbeats of a waiting pull request; after two missed ones it is lost."""
GATHER = 0.002
"""Seconds to gather acknowledgements into one larger pull request while little room is left."""


LOOK = 20.0
"""Seconds between two checks that the consumer is unchanged."""


class PulledMessage:
    """A delivered message; see `events.bus.Delivery`."""

    __slots__ = ("_pull", "attempt", "reply", "stored")

    def __init__(self, pull: "Pull", stored: Stored, attempt: int, reply: str) -> None:
        self._pull = pull
        self.stored = stored
        self.attempt = attempt
        self.reply = reply

    async def ack(self) -> None:
        """See the port."""
        await self._pull.answer(self, b"+ACK")

    async def retry(self, after: float) -> None:
        """See the port."""
        if self.attempt >= self._pull.consumer.max_deliver:
            await self.reject(f"still not done after {self.attempt} attempts")
        else:
            await self._pull.answer(self, b'-NAK {"delay": %d}' % nanoseconds(after))

    async def reject(self, reason: str) -> None:
        """See the port."""
        await self._pull.bury(self, reason)
        await self._pull.answer(self, b"+TERM " + one_line(reason).encode())


class Pull:
    """The loop behind `consume`: delivered messages count against `in_flight` until they are answered."""

    def __init__(self, wire: Wire, consumer: Consumer, meters: Meters) -> None:
        self.consumer = consumer
        self._meters = meters
        self._wire = wire
        self._box: ReplyQueue | None = None
        self._round = 0
        self._wanted = 0
        self._out: dict[int, tuple[float, PulledMessage]] = {}
        self._batch = max(1, consumer.in_flight // 4)
        self._room_for: tuple[int, asyncio.Future[None]] | None = None
        self._look_at = 0.0
        self.trouble = ""
        """Why nothing comes; empty if something would."""

    async def run(self) -> AsyncGenerator[PulledMessage, None]:
        """Messages, until the bus is closed."""
        try:
            await self._ensure()
            box = self._box = await self._wire.open(wildcard=True)
            while not self._wire.closed:
                if self._wanted <= 0:
                    await self._pull(box, await self._room())
                msg = await box.get(2 * HEARTBEAT)
                if msg is None:
                    self._wanted = 0
                elif status(msg):
                    await self._control(msg)
                elif handed := await self._hand_out(msg):
                    yield handed
                await self._look()
        finally:
            await self.leave(unanswered=False)

    async def answer(self, handed: PulledMessage, word: bytes) -> None:
        """Send an acknowledgement and free its slot."""
        await self._wire.notify(handed.reply, word)
        self._out.pop(handed.stored.sequence, None)
        if self._room_for and self._free() >= self._room_for[0] and not self._room_for[1].done():
            self._room_for[1].set_result(None)

    async def bury(self, handed: PulledMessage, reason: str) -> None:
        """Store a dead letter; a repeat within the stream's window is stored once."""
        stored, name = handed.stored, f"{self.consumer.stream}.{self.consumer.name}"
        letter = dead_letter(stored, self.consumer, reason)
        await publish(self._wire, letter, msg_id=f"{name}.{stored.sequence}")
        self._meters.count(DEAD_LETTERS, self.consumer.name)

    async def leave(self, *, unanswered: bool) -> None:
        """Release messages not delivered, and on demand those not acknowledged, so that others get them at once."""
        if self._box is None:
            return
        box, self._box = self._box, None
        await self._wire.shut(box)
        replies = [msg.reply for msg in box.rest() if not status(msg)]
        if unanswered:
            replies += [handed.reply for _, handed in self._out.values()]
        if not self._wire.closed:
            for reply in replies:
                await self._wire.notify(reply, b"-NAK")

    async def _ensure(self) -> None:
        self._look_at = asyncio.get_running_loop().time() + LOOK
        try:
            await ensure_consumer(self._wire, self.consumer)
        except Refused as no:
            raise no.denied() from no

    async def _pull(self, box: ReplyQueue, batch: int) -> None:
        self._round += 1
        self._wanted = batch
        ask = {"batch": batch, "expires": nanoseconds(EXPIRES), "idle_heartbeat": nanoseconds(HEARTBEAT)}
        subject = f"{self._wire.api}.CONSUMER.MSG.NEXT.{self.consumer.stream}.{self.consumer.name}"
        await self._wire.up()
        await self._wire.notify(subject, msgspec.json.encode(ask), f"{box.subject}.{self._round}")

    async def _hand_out(self, msg: Reply) -> PulledMessage | None:
        self._wanted -= 1
        where = place(msg.reply)
        handed = PulledMessage(self, original(stored_delivered(msg, where)), where.attempt, msg.reply)
        if where.attempt > self.consumer.max_deliver:
            self._meters.count(EXCEEDED, self.consumer.name)
            with suppress(Unavailable):  # it comes again, and is buried then
                await handed.reject(f"no answer in {self.consumer.max_deliver} attempts")
            return None
        now = asyncio.get_running_loop().time()
        self._out.pop(where.sequence, None)
        self._out[where.sequence] = (now + self.consumer.ack_wait, handed)
        return handed

    async def _control(self, msg: Reply) -> None:
        code = status(msg)
        if code == "100" or not msg.subject.endswith(f".{self._round}"):
            return
        self._wanted = 0
        if code != "408":  # not simply the end of its time: the consumer, its stream or its server may be gone
            await self._recover()

    async def _look(self) -> None:
        """Check periodically, and restore, the consumer's configuration."""
        now = asyncio.get_running_loop().time()
        if now >= self._look_at:
            self._look_at = now + LOOK
            with suppress(Refused, Unavailable):  # the pull is told of both, too
                await ensure_consumer(self._wire, self.consumer)

    async def _recover(self) -> None:
        self.trouble = f"the consumer {self.consumer.name} of {self.consumer.stream} is not there"
        tries = self._wire.tries()
        while not self._wire.closed:
            await asyncio.sleep(tries.next_delay())
            try:
                await self._wire.up()
                await ensure_consumer(self._wire, self.consumer)
            except (Refused, Unavailable):
                continue
            self.trouble = ""
            return

    def _free(self) -> int:
        return self.consumer.in_flight - len(self._out)

    async def _room(self) -> int:
        """Wait until there is room, and a moment longer if there is little."""
        while not self._free():
            (deadline, _), *_ = self._out.values()
            if not await self._room_within(1, deadline - asyncio.get_running_loop().time()):
                self._out.pop(next(iter(self._out)))  # its time to answer is over: the server gives it again
        if self._free() < self._batch:
            await self._room_within(self._batch, GATHER)
        return self._free()

    async def _room_within(self, room: int, patience: float) -> bool:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._room_for = (room, future)
        try:
            async with asyncio.timeout(max(0.0, patience)):
                await future
        except TimeoutError:
            return False
        finally:
            self._room_for = None
        return True
