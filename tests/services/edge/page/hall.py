"""A page that follows a bus, and an operator who knows the token, for the tests of the page."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from events.bus import Bus, Consumer, Message
from events.cloudevents import CloudEvent, encode
from events.dead_letter import dead_letter
from services.edge.http.principals import Callers
from services.edge.http.server import opened
from services.edge.page.site import Site
from services.edge.page.visitors import Visitors
from services.edge.webhooks.secrets import Secrets
from services.roles import SERVICES
from tests.services.edge.house import Answer, House

TOKEN = "the-operators-own"  # noqa: S105 - of this test alone
JO = {"Authorization": f"Bearer {TOKEN}"}


@dataclass
class Page(House):
    """A house with the page alone."""

    jar: aiohttp.CookieJar = field(default_factory=lambda: aiohttp.CookieJar(unsafe=True))

    doors: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def origin(self) -> dict[str, str]:
        return {"Origin": self.url}

    async def open(self, site: Site, address: str) -> None:
        self.url = await self.doors.enter_async_context(opened(address, site.routes()))
        following = asyncio.ensure_future(site.run())
        self.doors.push_async_callback(ended, following)

    async def shut(self) -> None:
        """The edge ends, as on SIGTERM; the bus stays."""
        await self.doors.aclose()

    async def sign_in(self, token: str = TOKEN, **headers: str) -> Answer:
        return await self.ask("POST", "/session", json={"token": token}, headers=headers or self.origin)

    async def say(self, subject: str, data: bytes = b"{}", name: str = "e-1") -> int:
        headers, _ = encode(CloudEvent(id=name, source="/test", type="dev.alate.test", time=self.now))
        return await self.bus.publish(Message(subject, data, headers))

    async def bury(self, subject: str = "cluster.requested", reason: str = "no such thing") -> int:
        """A dead letter of the gateway's."""
        consumer = Consumer("gateway-intake", "INTAKE", ("cluster.requested",))
        sequence = await self.say(subject, name=f"dead-{reason}")
        stored = await self.bus.at("INTAKE", sequence)
        return await self.bus.publish(dead_letter(stored, consumer, reason))


async def ended(task: asyncio.Future[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def open_page(
    bus: Bus, folder: Path, *, is_open: bool = True, address: str = "127.0.0.1:0"
) -> AsyncIterator[Page]:
    """A page that follows the bus."""
    async with AsyncExitStack() as stack:
        page = Page(bus, folder)
        page.endpoint("operator.jo", TOKEN)
        page.endpoint("reader.acme.x", "mine")
        visitors = Visitors(Callers(Secrets(folder)), clock=page.clock, is_open=is_open)
        site = Site(bus, visitors, SERVICES, clock=page.clock, jitter=lambda: 0.0)
        page.session = await stack.enter_async_context(aiohttp.ClientSession(cookie_jar=page.jar))
        await page.open(site, address)
        try:
            yield page
        finally:
            await page.shut()
