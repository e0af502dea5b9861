"""The outbound service: writes the outbox and delivers it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import structlog

from events.bus import Bus
from events.telemetry import Meters
from services.outbound.delivery import DeliveryWorker
from services.outbound.http_client import Opened, posting
from services.outbound.outbox import Outbox
from services.outbound.target_checks import watch
from services.outbound.targets import TargetFile

log = structlog.get_logger()


@dataclass(frozen=True)
class Receivers:
    """Who is told, and how they are reached."""

    file: Path | None = None
    """The file of targets; None: there are none."""
    secrets: Path | None = None
    """The folder of their secrets."""
    opened: Opened = posting


NOBODY = Receivers()


class Outbound:
    """The service."""

    def __init__(
        self,
        bus: Bus,
        receivers: Receivers,
        *,
        clock: Callable[[], datetime],
        jitter: Callable[[], float],
        meters: Meters,
    ) -> None:
        """Raises Refused, OSError for a file of targets that cannot be read."""
        self.ready = asyncio.Event()
        self._bus = bus
        self._opened = receivers.opened
        self._targets = TargetFile(receivers.file, receivers.secrets)
        self._clock = clock
        self._jitter = jitter
        self._meters = meters

    async def run(self) -> None:
        """Run until cancelled."""
        async with self._opened() as post, asyncio.TaskGroup() as group:
            outbox = Outbox(self._bus, self._targets, clock=self._clock, jitter=self._jitter, meters=self._meters)
            courier = DeliveryWorker(
                self._bus, self._targets, post, clock=self._clock, jitter=self._jitter, meters=self._meters
            )
            group.create_task(outbox.run())
            group.create_task(courier.run())
            group.create_task(watch(self._targets, self._meters))
            self.ready.set()
            log.info("service.ready", targets=len(self._targets.now()))
