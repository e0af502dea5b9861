"""The outbound service: writes the outbox and delivers it."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import structlog

from services.outbound.outbox import DeliveryWorker, Outbox
from services.outbound.sender import Opened, sending
from services.outbound.targets import TargetFile, watch
from services.runtime.context import Context

log = structlog.get_logger()


@dataclass(frozen=True)
class Receivers:
    """The targets of notifications, and how they are reached."""

    file: Path | None = None
    """The file of targets; None: there are none."""
    secrets: Path | None = None
    """The folder of their secrets."""
    opened: Opened = sending


NOBODY = Receivers()


class Outbound:
    """The outbound service."""

    def __init__(self, context: Context, receivers: Receivers) -> None:
        """Raises InvalidResource, OSError for a file of targets that cannot be read."""
        self.ready = asyncio.Event()
        self._context = context
        self._opened = receivers.opened
        self._targets = TargetFile(receivers.file, receivers.secrets)

    async def run(self) -> None:
        """Run until cancelled."""
        async with self._opened() as post, asyncio.TaskGroup() as group:
            group.create_task(Outbox(self._context, self._targets).run())
            group.create_task(DeliveryWorker(self._context, self._targets, post).run())
            group.create_task(watch(self._targets, self._context.meters))
            self.ready.set()
            log.info("service.ready", targets=len(self._targets.now()))
