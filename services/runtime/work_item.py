"""A letter is what one entity is told, with the promise to answer whoever sent it."""

from dataclasses import dataclass
from datetime import datetime

from events.bus import Delivery
from events.telemetry import NOWHERE, Trace
from services.runtime.machine import Event


class SharedAck:
    """Answers one delivery when every entity it concerns has taken it in."""

    def __init__(self, delivery: Delivery, waiting_for: int) -> None:
        self._delivery = delivery
        self._left = waiting_for
        self._failed = False

    async def done(self) -> None:
        """One entity has taken it in."""
        self._left -= 1
        if not self._left and not self._failed:
            await self._delivery.ack()

    async def retry(self, after: float) -> None:
        """One entity could not: the message comes again, for all of them."""
        if not self._failed:
            self._failed = True
            await self._delivery.retry(after)


@dataclass(frozen=True, slots=True)
class WorkItem:
    """What an entity is told: an event, or (None) to do again what its state asks for."""

    event: Event | None
    cause: str = ""
    ack: SharedAck | None = None
    trace: Trace = NOWHERE
    template: str = "resume"
    stored: datetime | None = None
    """When the bus took what it tells; None: it tells nothing new."""
    since_boot: bool = False
    """What is known of the entity may be old by now: it is read again first."""
