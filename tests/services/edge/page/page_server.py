"""A page served from a bus, and an operator who knows its token, for the tests of the page."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import msgspec

from events.bus import Bus, Consumer, Message
from events.cloudevents import CloudEvent, encode
from events.streams import dead_letter as letter_of
from services.edge.http.principals import Callers
from services.edge.http.server import opened
from services.edge.page.site import Site
from services.edge.page.visitors import Visitors
from services.edge.webhooks.secrets import WebhookSecrets
from services.roles import SERVICES
from tests.services.edge.house import Answer, House
from tests.services.edge.page.colonies import Colonies
from tests.services.edge.page.states import subject

TOKEN = "the-operators-own"  # noqa: S105 - of this test alone
JO = {"Authorization": f"Bearer {TOKEN}"}


@dataclass
class Page(House):
    """An edge that serves the page alone."""

    jar: aiohttp.CookieJar = field(default_factory=lambda: aiohttp.CookieJar(unsafe=True))

    doors: AsyncExitStack = field(default_factory=AsyncExitStack)
    count: int = 0

    @property
    def origin(self) -> dict[str, str]:
        return {"Origin": self.url}

    async def start(self, site: Site, address: str) -> None:
        self.url = await self.doors.enter_async_context(opened(address, site.routes()))
        running = asyncio.ensure_future(site.run())
        self.doors.push_async_callback(ended, running)

    async def stop(self) -> None:
        """The edge ends, as on SIGTERM; the bus stays."""
        await self.doors.aclose()

    async def sign_in(self, token: str = TOKEN, **headers: str) -> Answer:
        return await self.ask("POST", "/session", json={"token": token}, headers=headers or self.origin)

    async def publish(self, subject: str, data: bytes = b"{}", name: str = "e-1") -> int:
        headers, _ = encode(CloudEvent(id=name, source="/test", type="dev.alate.test", time=self.now))
        return await self.bus.publish(Message(subject, data, headers))

    async def publish_state(self, state: msgspec.Struct, name: str = "train-gpu") -> int:
        """Publish a state or a snapshot of a cluster as its owner does."""
        self.count += 1
        return await self.publish(subject(state, name=name), msgspec.json.encode(state), f"state-{self.count}")

    async def dead_letter(self, subject: str = "cluster.requested", reason: str = "no such thing") -> int:
        """Publish a dead letter of the gateway."""
        consumer = Consumer("gateway-intake", "INTAKE", ("cluster.requested",))
        sequence = await self.publish(subject, name=f"dead-{reason}")
        stored = await self.bus.at("INTAKE", sequence)
        return await self.bus.publish(letter_of(stored, consumer, reason))


async def ended(task: asyncio.Future[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def open_page(
    bus: Bus, folder: Path, *, is_open: bool = True, address: str = "127.0.0.1:0", kube: Colonies | None = None
) -> AsyncIterator[Page]:
    """A page on a bus."""
    async with AsyncExitStack() as stack:
        page = Page(bus, folder)
        page.endpoint("operator.jo", TOKEN)
        page.endpoint("reader.acme.x", "mine")
        visitors = Visitors(Callers(WebhookSecrets(folder)), clock=page.clock, is_open=is_open)
        site = Site(page.context, kube or Colonies(), visitors, SERVICES)
        page.session = await stack.enter_async_context(aiohttp.ClientSession(cookie_jar=page.jar))
        await page.start(site, address)
        try:
            yield page
        finally:
            await page.stop()
