"""One NATS connection with one inbox: replies find their requests by number."""

import asyncio
import logging
import math
from collections.abc import Callable
from random import random as chance
from typing import TYPE_CHECKING, TypeVar

from nats.errors import Error as NatsError

from events.backoff import Backoff
from events.bus import Unavailable
from events.errors import Denied
from events.jetstream.client import NatsClient
from events.jetstream.credentials import NkeyCredentials, without_secrets
from events.jetstream.requests import Mailbox, PendingRequests, Refusal, Reply, RequestLost, refusal
from schemas.subjects import token

if TYPE_CHECKING:
    from nats.aio.subscription import Subscription

T = TypeVar("T")
ReplyQueue = Mailbox[Reply]

CONNECT = 3.0
"""Time-out for connecting, in seconds."""
ANSWER = 3.0
"""Seconds after which a request is sent again, or `LOOK` later."""
FIRST, LONGEST = 0.1, 2.0
"""Seconds between two tries of the same question, and between two tries to reconnect, doubled up to the longest."""
PING = 10
"""Seconds between pings; a silent peer is detected after three."""

REFUSAL = "nats: '"
"""How nats-py quotes the server's error, which says more than the reset connection that follows."""

_log = logging.getLogger(__name__)


class Wire:
    """Requests and replies over one connection, which reconnects until it is closed."""

    def __init__(
        self, url: str, name: str, credentials: NkeyCredentials, patience: float, random: Callable[[], float] = chance
    ) -> None:
        """`random` (0 to 1) spreads the retries."""
        self.client = NatsClient()
        self._loop = asyncio.get_running_loop()
        self._questions = PendingRequests(self._loop)
        self._refused: dict[str, Refusal] = {}
        self._deaf: Refusal | None = None
        self._boxes: dict[ReplyQueue, Subscription] = {}
        self._up = asyncio.Event()
        self._trouble = ""
        self._inbox = ""
        self._url = url
        self._name = name
        self._credentials = credentials
        self._patience = patience
        self._random = random
        self._reconnects = self.tries()
        self._started_by = math.inf
        self.renewed = 0
        """How often the connection was made anew."""
        self.closed = False

    async def start(self) -> None:
        """Connect; raises `Unavailable` or `Denied` with one sentence."""
        self._started_by = self._loop.time() + CONNECT
        try:
            async with asyncio.timeout(CONNECT):
                await self._connect()
        except (TimeoutError, OSError, NatsError) as error:
            self.closed = True
            await self.client.close()
            raise Unavailable(f"no NATS at {self.place}: {self._trouble or error or 'no answer'}") from error
        self._started_by = math.inf
        self._inbox = self.client.new_inbox() + "."
        await self.client.listen(self._inbox + "*", self._answered)
        self._up.set()

    async def _connect(self) -> None:
        own = self._credentials
        await self.client.connect(
            [each.strip() for each in self._url.split(",")],
            name=self._name,
            inbox_prefix=own.inbox or f"_INBOX_{token(self._name)}",
            **own.shown(),
            error_cb=self._erred,
            disconnected_cb=self._went_down,
            reconnected_cb=self._came_up,
            max_reconnect_attempts=-1,
            reconnect_time_wait=FIRST,  # type: ignore[arg-type]  # nats-py says int and sleeps for it
            ping_interval=PING,
        )

    def until(self, patience: float | None = None) -> float:
        """The deadline after so many seconds (None: this connection's own), in the loop's time."""
        return self._loop.time() + (self._patience if patience is None else patience)

    async def ask(
        self, subject: str, data: bytes, headers: dict[str, str] | None = None, until: float = math.inf
    ) -> Reply:
        """Send one request; `RequestLost` without a reply in time, `Denied` without permission."""
        if self._deaf:
            raise self._denied(self._deaf, subject)
        number = self._questions.number()
        answer = self._questions.ask(number, subject, min(until, self._loop.time() + ANSWER))
        try:
            await self.client.publish(subject, data, self._inbox + number, headers)
            return await answer
        except NatsError as error:
            raise RequestLost(str(error)) from error
        finally:
            self._questions.forget(number)

    async def insist(
        self,
        subject: str,
        data: bytes,
        headers: dict[str, str] | None,
        read: Callable[[Reply], T],
        until: float | None = None,
    ) -> T:
        """Repeat a request until its answer can be read; raises `Unavailable` when the time is over.

        It is over when the loop's time is `until`; None: after the connection's own limit.
        """
        until = self.until() if until is None else until
        tries = self.tries()
        while True:
            try:
                if not self._up.is_set():
                    await self._wait_up(until)
                return read(await self.ask(subject, data, headers, until))
            except RequestLost as lost:
                if self.closed:
                    raise Unavailable("the bus was left") from lost
                pause = tries.next_delay()
                if self._loop.time() + pause >= until:
                    raise Unavailable(self._why(subject, lost)) from lost
            await asyncio.sleep(pause)

    async def notify(self, subject: str, data: bytes = b"", reply: str = "") -> None:
        """Say something and do not wait for an answer; kept and sent later while the server is away.

        Raises `Denied` if it was refused before, as the server's no comes too late for the first time.
        """
        if no := self._refused.get(subject.lower()):
            raise self._denied(no, subject)
        try:
            await self.client.publish(subject, data, reply)
        except NatsError as error:
            raise Unavailable(f"NATS at {self.place} could not be told: {error}") from error

    async def open(self, *, wildcard: bool = False) -> ReplyQueue:
        """A mailbox with a subject of its own; with `wildcard` one for every subject below it."""
        box = Mailbox[Reply](self.client.new_inbox())
        try:
            subject = box.subject + ".*" if wildcard else box.subject
            self._boxes[box] = await self.client.listen(subject, box.put)
        except NatsError as error:
            raise Unavailable(f"NATS at {self.place} takes no subscription: {error}") from error
        return box

    async def shut(self, box: ReplyQueue) -> None:
        """Unsubscribe."""
        subscription = self._boxes.pop(box, None)
        if subscription and not self.closed:
            await self.client.unlisten(subscription)

    def tries(self) -> Backoff:
        """A new back-off for the retries of one request."""
        return Backoff(self._random, FIRST, LONGEST)

    def unique(self) -> str:
        """A unique message id."""
        return f"{self._inbox}{self._questions.number()}"

    @property
    def place(self) -> str:
        """The url without credentials."""
        return without_secrets(self._url)

    @property
    def api(self) -> str:
        """The subject prefix of the JetStream API."""
        return self._credentials.api

    @property
    def limit(self) -> int:
        """Bytes a message may have, headers included."""
        return self.client.max_payload

    async def up(self) -> None:
        """Wait until there is a connection."""
        await self._up.wait()

    async def close(self) -> None:
        """Wait for pending replies, flush, disconnect and close every mailbox."""
        if self.closed:
            return
        if self._up.is_set():
            await self._questions.rest(ANSWER)
            await self._flush()
        self.closed = True
        self._lose("the bus was left")
        self._questions.close()
        self._up.set()  # who waits for a connection learns that there will be none
        self._ring()
        await self.client.close()

    async def _flush(self) -> None:
        try:
            await self.client.flush(timeout=int(ANSWER))
        except NatsError as error:
            _log.warning("leaving NATS at %s without a last word: %s", self.place, error)

    async def _wait_up(self, until: float) -> None:
        try:
            async with asyncio.timeout_at(until):
                await self._up.wait()
        except TimeoutError as error:
            raise RequestLost(self._trouble or "not connected") from error

    def _why(self, subject: str, lost: RequestLost) -> str:
        trouble = f" ({self._trouble})" if self._trouble and self._trouble not in str(lost) else ""
        return f"NATS at {self.place} gave no answer on {subject}: {lost}{trouble}"

    def _answered(self, msg: Reply) -> None:
        self._questions.answer(msg.subject[len(self._inbox) :], msg)

    def _lose(self, why: str) -> None:
        self._questions.fail(lambda _: RequestLost(why))

    def _ring(self) -> None:
        for box in self._boxes:
            box.put(None)

    async def _went_down(self) -> None:
        if not self.closed:
            self._up.clear()
        self._lose("the connection broke")

    async def _came_up(self) -> None:
        self._trouble = ""
        self.renewed += 1
        self._reconnects, self.client.options["reconnect_time_wait"] = self.tries(), FIRST
        self._refused.clear()  # rights may have been changed meanwhile
        self._deaf = None
        self._up.set()
        self._ring()

    def _refuse(self, error: Exception) -> None:
        """Fail every request that the server's refusal concerns; a refused publish fails with the next call."""
        if (no := refusal(error)) is None:
            return
        if no.listening and no.subject.startswith(self._inbox.lower().rsplit(".", 2)[0]):
            self._deaf = no
        elif no.subject.startswith(self.api.lower()):  # few; every acknowledgement has a subject of its own
            self._refused[no.subject] = no
        self._questions.fail(
            lambda asked: self._denied(no, asked) if self._deaf or asked.lower() == no.subject else None
        )

    def _denied(self, no: Refusal, subject: str) -> Denied:
        return no.denied(self.place, self._name, self._inbox if no is self._deaf else subject)

    async def _erred(self, error: Exception) -> None:
        self._refuse(error)
        if not self._up.is_set():  # nats-py reads it before each try
            self.client.options["reconnect_time_wait"] = self._reconnects.next_delay()
        said = str(error) or type(error).__name__
        if not self._trouble.startswith(REFUSAL) or said.startswith(REFUSAL):
            self._trouble = said
        _log.log(logging.DEBUG if self.closed else logging.WARNING, "NATS at %s: %s", self.place, said)
        if self._loop.time() > self._started_by:
            # Python 3.11's wait_for, which nats-py waits with, may swallow the cancellation of a time-out
            # (https://github.com/python/cpython/issues/86296): nats-py would go on trying for ever.
            raise TimeoutError


async def dial(url: str, name: str, credentials: NkeyCredentials, patience: float) -> Wire:
    """A connection that is started; `patience` is how many seconds a request is repeated."""
    wire = Wire(url, name, credentials, patience)
    await wire.start()
    return wire
