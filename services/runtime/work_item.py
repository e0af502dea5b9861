"""Work items of the reconcile loop: an event for an entity, whose message is acknowledged when it is done."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from events.bus import Delivery
from events.telemetry import Trace
from schemas.subjects import Key
from services.runtime.machine import Event


class SharedAck:
    """Acknowledges one delivery once every entity it concerns has handled it."""

    def __init__(self, delivery: Delivery, waiting_for: int) -> None:
        self._delivery = delivery
        self._left = waiting_for
        self._failed = False

    async def done(self) -> None:
        """One entity has handled it."""
        self._left -= 1
        if not self._left and not self._failed:
            await self._delivery.ack()

    async def retry(self, after: float) -> None:
        """One entity could not handle it: the message is delivered again to all of them, in `after` seconds."""
        if not self._failed:
            self._failed = True
            await self._delivery.retry(after)


@dataclass(frozen=True, slots=True, eq=False)
class WorkItem:
    """An event for one entity, with what is known of the message it came in."""

    key: Key
    event: Event
    cause: str
    ack: SharedAck
    trace: Trace
    template: str
    stored: datetime
    """When the bus stored the message."""


class Resume(NamedTuple):
    """Do again what the state of an entity asks for."""

    key: Key
    reload: bool = True
    """Read the state again first: what is known of it may be old by now."""
