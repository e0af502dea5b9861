"""What lies in the outbox is brought to its target: in order per cluster, again for a day, then a dead letter."""

import asyncio
import contextlib
from collections.abc import Callable
from contextlib import aclosing
from datetime import datetime
from typing import NamedTuple

import structlog

from events.backoff import Backoff
from events.bus import Bus, Consumer, Delivery, Unavailable
from events.cloudevents import Malformed, decode
from events.errors import TryLater
from events.meters import OUTBOUND
from events.telemetry import Meters, hearing, inject
from schemas.registry import Stream
from schemas.subjects import Key, key_of
from schemas.unreadable import UNREADABLE
from services.outbound.formats import Occasion, Request, request
from services.outbound.http_client import Post
from services.outbound.milestones import Life, life
from services.outbound.outbox import STREAM
from services.outbound.outcome import Outcome, asked, outcome
from services.outbound.targets import Target, Targets
from services.runtime.mailbox import Mailboxes

CONSUMER = Consumer("outbound-outbound", STREAM, ("outbound.>",), max_deliver=16)
"""Sixteen tries make about a day."""
FIRST, CAP = 5.0, 6 * 3600.0
"""Seconds before the second try, and at most between two."""
AT_ONCE = 128
"""Requests that are out at the same time: half of all that are handed out, so that none waits long for its turn."""
GRACE = 11.0
"""Seconds in which what is out may come back when we are told to leave: a little more than a receiver may take."""
UNKNOWN = Life(newest=True, was_ready=False)

QUIET = frozenset({"delivered", "late", "unwanted"})
"""What is nothing to look into."""
Place = tuple[str, Key]
"""Target and cluster."""

log = structlog.get_logger()


class Came(NamedTuple):
    """What came of one try."""

    what: str
    """delivered, again, dead, late or unwanted."""
    why: str
    after: float = 0.0
    """Seconds until the next try."""


class Courier:
    """Works the outbox off."""

    def __init__(  # noqa: PLR0913 - its ports, and all that comes in from outside
        self,
        bus: Bus,
        targets: Targets,
        post: Post,
        *,
        clock: Callable[[], datetime],
        jitter: Callable[[], float],
        meters: Meters,
    ) -> None:
        self._bus = bus
        self._targets = targets
        self._post = post
        self._clock = clock
        self._jitter = jitter
        self._meters = meters
        self._gone: dict[str, Target] = {}
        """Targets that said 410, as they were then: one that is changed is asked again."""
        self._mail: Mailboxes[Place, tuple[Delivery, float]] = Mailboxes(self._open, AT_ONCE)

    async def run(self) -> None:
        """Listen for ever."""
        try:
            async with aclosing(self._bus.consume(CONSUMER)) as deliveries:
                async for delivery in deliveries:
                    _, name, subject = delivery.stored.subject.split(".", 2)
                    self._mail.put((name, key_of(subject)), (delivery, asyncio.get_running_loop().time()))
        finally:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._mail.drain(), GRACE)
            await self._mail.close()

    async def _open(self, place: Place, letter: tuple[Delivery, float]) -> None:
        (name, key), (delivery, came_at) = place, letter
        if asyncio.get_running_loop().time() - came_at > CONSUMER.ack_wait - GRACE:
            return  # it lay so long behind others that it comes again anyway
        try:
            with hearing(key, delivery.stored, self._meters, self._clock):
                came = await self._bring(name, key, delivery)
            self._meters.count(OUTBOUND, f"{name}.{came.what}")
            tell = log.info if came.what in QUIET else log.warning
            tell(f"outbound.{came.what}", target=name, attempt=delivery.attempt, entity=key.path, why=came.why)
            await self._answer(delivery, came)
        except Unavailable as away:  # it was not answered, so it comes again
            log.warning("bus.unavailable", target=name, reason=str(away))
        except Exception:  # a fault of ours must not stop the other targets: logged, tried again, then a dead letter
            log.exception("outbound.broke", target=name)
            with contextlib.suppress(Unavailable):
                await delivery.retry(FIRST)

    async def _answer(self, delivery: Delivery, came: Came) -> None:
        if came.what == "dead":
            await delivery.reject(came.why)
        elif came.what == "again":
            await delivery.retry(came.after)
        else:
            await delivery.ack()

    async def _bring(self, name: str, key: Key, delivery: Delivery) -> Came:
        target = self._targets.now().get(name)
        if target is None:
            return Came("unwanted", f"there is no target {name} any more")
        if self._gone.get(name) == target:
            return Came("dead", f"target {name} has said 410: it wants no more")
        try:
            message = await self._request(target, key, delivery)
        except (Malformed, *UNREADABLE, ValueError) as wrong:
            return Came("dead", f"target {name}: {wrong}")
        except TryLater as later:
            return self._again(name, delivery, str(later), later.after)
        return await self._send(target, message, delivery) if message else Came("late", "nothing to say of it now")

    async def _request(self, target: Target, key: Key, delivery: Delivery) -> Request | None:
        """Raises Malformed, msgspec.DecodeError, ValueError, TryLater."""
        if not (secrets := self._targets.secrets(target)):
            raise TryLater(f"there is no secret in the file {target.name} of the folder of secrets", FIRST)
        event = decode(delivery.stored.headers, delivery.stored.data)
        stands = UNKNOWN
        if target.format != "cloudevents":
            stands = life(await self._bus.read(Stream.EVENTS, key.history), event.id)
        return request(target, Occasion(event, key, stands, self._clock()), secrets)

    async def _send(self, target: Target, message: Request, delivery: Delivery) -> Came:
        traced = Request(message.url, inject(dict(message.headers)), message.body)
        try:
            answer = await self._post(traced)
        except TryLater as later:
            return self._again(target.name, delivery, str(later), 0.0)
        why = f"answered {answer.status}"
        match outcome(answer):
            case Outcome.DELIVERED:
                return Came("delivered", why)
            case Outcome.AGAIN:
                return self._again(target.name, delivery, why, asked(answer, self._clock()))
        if answer.status == 410:
            self._gone[target.name] = target
        return Came("dead", f"target {target.name} {why}")

    def _again(self, name: str, delivery: Delivery, why: str, least: float) -> Came:
        if delivery.attempt >= CONSUMER.max_deliver:
            return Came("dead", f"target {name}: {why}, and so {delivery.attempt} times")
        return Came("again", why, Backoff(self._jitter, FIRST, CAP, delivery.attempt - 1).next_delay(least))
