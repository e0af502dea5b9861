"""Writes one outbox message per event and target."""

from collections.abc import Callable, Iterator
from datetime import datetime

import msgspec
import structlog

from events.bus import Bus, Consumer, Delivery, Message, Stored
from events.telemetry import Meters, hearing, sending
from schemas.registry import Stream
from schemas.subjects import Key, key_of
from schemas.wire import UNREADABLE
from services.outbound.formats import commit_of
from services.outbound.milestones import ClusterSummary, stayed_ready
from services.outbound.targets import Target, TargetFile
from services.runtime.subscriptions import Undecodable
from services.runtime.worker import Worker

STREAM = "OUTBOUND"
"""The stream with the outbox."""
CLUSTER = "cluster"
READY, CHANGED = "ready", "changed"
"""What receivers of events get when a cluster becomes ready, and at each change while it stays ready."""
OUTBOX_CONSUMER = Consumer(
    "outbound-events", Stream.EVENTS, ("cluster.*.*.*", "addon.*.*.*", "teardown.*.*.*"), ack_wait=10.0
)
FORGES = ("github", "gitlab")

log = structlog.get_logger()


def wanted(target: Target, stored: Stored, key: Key, *, stayed: bool) -> bool:
    """Whether the target wants the event. Raises msgspec.DecodeError."""
    event = stored.subject.split(".", 2)[1]
    if target.format == "cloudevents":
        return target.listens(key.domain, CHANGED if stayed else event, key.tenant)
    if not target.listens(key.domain, event, key.tenant):
        return False
    if target.format in FORGES:
        return commit_of(msgspec.json.decode(stored.data, type=ClusterSummary), target.format) is not None
    return event in (READY, "released")


def letters(targets: Iterator[Target], stored: Stored, *, stayed: bool = False) -> Iterator[Message]:
    """The outbox messages of an event, one per target.

    Raises msgspec.DecodeError, ValueError. `stayed`: the cluster was ready before, which receivers of events get as a
    change, since they start work at ready.
    """
    key = key_of(stored.subject)
    headers = {name: value for name, value in stored.headers.items() if not name.startswith("Nats-")}
    changed = headers | {"ce-type": f"{headers.get('ce-type', '').rpartition('.')[0]}.{CHANGED}"}
    for target in targets:
        if wanted(target, stored, key, stayed=stayed):
            told = changed if stayed and target.format == "cloudevents" else headers
            yield Message(f"outbound.{target.name}.{stored.subject}", stored.data, told)


class Outbox:
    """Fills it."""

    def __init__(
        self,
        bus: Bus,
        targets: TargetFile,
        *,
        clock: Callable[[], datetime],
        jitter: Callable[[], float],
        meters: Meters,
    ) -> None:
        self._bus = bus
        self._targets = targets
        self._meters = meters
        self._clock = clock
        self._worker = Worker(bus, OUTBOX_CONSUMER, self._take, jitter=jitter, meters=meters)

    async def run(self) -> None:
        """Fill it for ever."""
        await self._worker.run()

    async def _take(self, delivery: Delivery) -> None:
        """Raises Undecodable, Unavailable."""
        stored = delivery.stored
        try:
            stayed = await self._stayed(stored)
            found = tuple(letters(iter(self._targets.now().values()), stored, stayed=stayed))
        except (*UNREADABLE, ValueError) as wrong:
            raise Undecodable(stored, wrong) from wrong
        with hearing(key_of(stored.subject), stored, self._meters, self._clock):
            for letter in found:
                await self._keep(letter, stored)
        await delivery.ack()

    async def _stayed(self, stored: Stored) -> bool:
        """Whether it tells of a cluster that was ready already. Raises ValueError."""
        key = key_of(stored.subject)
        if not stored.subject.startswith(f"{CLUSTER}.{READY}."):
            return False
        return stayed_ready(await self._bus.read(Stream.EVENTS, key.history), stored.sequence)

    async def _keep(self, letter: Message, stored: Stored) -> None:
        """Once, however often the event comes."""
        headers = dict(letter.headers)
        with sending(letter.subject, headers, self._meters):
            kept = Message(letter.subject, letter.data, headers)
            await self._bus.publish(kept, msg_id=f"{letter.subject}.{stored.sequence}")
