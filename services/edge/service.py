"""The edge service: HTTP server, Triggers, stored deliveries and the page's feed."""

import asyncio
from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import structlog

from events.backoff import Rate
from events.jetstream.permissions import Role
from events.kube.client import Kube
from services.edge.http.principals import Callers
from services.edge.http.server import opened
from services.edge.inventory_api import InventoryApi
from services.edge.lag_metrics import LagMetrics
from services.edge.page.site import Site
from services.edge.page.visitors import Visitors
from services.edge.triggers.crd_source import CrdTriggers
from services.edge.triggers.evaluator_pool import EvaluatorPool
from services.edge.triggers.fair_share import FairShare
from services.edge.triggers.file_source import FileTriggers
from services.edge.triggers.loop import TriggerLoop
from services.edge.webhooks.receive import WebhookReceiver
from services.edge.webhooks.secrets import WebhookSecrets
from services.runtime.context import Context

USUAL = Rate(50.0, 200)
CONSUMED = ("EVENTS", "LEVELS", "INTAKE", "HOOKS", "OUTBOUND")
"""The streams that have consumers."""

log = structlog.get_logger()


@dataclass(frozen=True)
class EdgeAddress:
    """The address of the edge, and whose requests it takes."""

    address: str = "127.0.0.1:0"
    """HOST:PORT; port 0: a free one."""
    secrets: Path | None = None
    """The folder of endpoints; None: there are none."""
    rate: Rate = USUAL
    """The rate of deliveries of one endpoint."""
    is_open: bool = False
    """Whether everybody may view the page."""
    triggers: Path | None = None
    """A file or folder of Triggers beside those of the management cluster; None: there is none."""


CLOSED = EdgeAddress()
"""An edge without endpoints."""


class EdgeService:
    """The edge service."""

    def __init__(self, context: Context, kube: Kube, door: EdgeAddress, roles: Iterable[Role] = ()) -> None:
        """The page shows the messages between the roles."""
        bus, clock, meters = context.bus, context.clock, context.meters
        self.ready = asyncio.Event()
        self.url = ""
        """Where it is open, once it is ready."""
        self._door = door
        secrets = WebhookSecrets(door.secrets)
        self._processes = EvaluatorPool()
        evaluators = FairShare(self._processes, clock)
        self._hooks = WebhookReceiver(context, secrets, door.rate, evaluators)
        callers = Callers(secrets)
        self._questions = InventoryApi(bus, callers)
        visitors = Visitors(callers, clock=clock, is_open=door.is_open)
        self._site = Site(context, kube, visitors, roles)
        self._lag = LagMetrics(bus, CONSUMED, meters)
        self._book = CrdTriggers(kube, evaluators, clock)
        self._files = FileTriggers(door.triggers, self._processes, meters)
        self._triggers = TriggerLoop(context, evaluators, self._book, self._files)

    async def run(self) -> None:
        """Serve until cancelled. Raises ``Denied("AddressInUse")``."""
        routes = (*self._hooks.routes(), *self._questions.routes(), *self._site.routes())
        async with aclosing(self._processes), opened(self._door.address, routes) as self.url:
            self.ready.set()
            log.info("service.ready", url=self.url)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._book.run())
                group.create_task(self._files.run())
                group.create_task(self._triggers.run())
                group.create_task(self._site.run())
                group.create_task(self._lag.run())
