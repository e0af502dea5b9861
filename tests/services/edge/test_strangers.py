"""Whoever is no operator moves no dead letter, at whichever endpoint of the edge, by whichever method."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

import aiohttp
import pytest

from events.backoff import Rate
from events.bus import Consumer, Message
from events.memory.bus import MemoryBus
from services.edge.http.principals import Callers
from services.edge.http.server import HttpRoute, opened
from services.edge.inventory_api import InventoryApi
from services.edge.page.session import COOKIE, LIFETIME, issue
from services.edge.page.site import Site
from services.edge.page.visitors import Visitors
from services.edge.webhooks.providers import PROVIDERS
from services.edge.webhooks.receive import WebhookReceiver
from services.edge.webhooks.secrets import WebhookSecrets
from services.roles import SERVICES
from tests.services.edge.here import Here
from tests.services.edge.house import NOW, SECRET, bearer, github
from tests.services.edge.page.colonies import Colonies
from tests.services.edge.page.page_server import JO, TOKEN, Page, ended

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
NAMES = {"provider": "github", "tenant": "acme", "name": "ci", "which": "all"}
PART = re.compile(r"\{(\w+)[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")
EVIL = {"Origin": "https://evil.example"}


def cookie(secret: str, made_at=NOW) -> dict[str, str]:
    return {"Cookie": f"{COOKIE}={issue('operator.jo', secret.encode(), made_at)}"}


STRANGERS = {
    "nobody": {},
    "a guess": {"Authorization": "Bearer guess"},
    "a reader": {"Authorization": "Bearer mine"},
    "a sender": bearer(b"{}"),
    "a signed sender": github(b"{}"),
    "an operator's browser on another's page": cookie(TOKEN) | EVIL,
    "an operator's browser that says no origin": cookie(TOKEN),
    "a session that has run out": cookie(TOKEN, NOW - LIFETIME - timedelta(seconds=1)),
    "a session of a token that was taken away": cookie("the one before"),
}


class WatchedBus(MemoryBus):
    """Notes what is moved."""

    def __init__(self) -> None:
        super().__init__()
        self.moved: list[str] = []

    async def publish(self, message: Message, **how) -> int:
        if message.subject.startswith("redrive."):
            self.moved.append(message.subject)
        return await super().publish(message, **how)

    async def drop(self, stream: str, sequence: int) -> bool:
        self.moved.append(f"{stream}/{sequence}")
        return await super().drop(stream, sequence)


class Whole(Page):
    """A page with all endpoints of the edge."""

    bus: WatchedBus
    routes: tuple[HttpRoute, ...]


@pytest.fixture
async def edge(tmp_path: Path) -> AsyncIterator[Whole]:
    """All that the edge serves, with a dead letter that could be redriven."""
    async with AsyncExitStack() as stack:
        bus, secrets = WatchedBus(), WebhookSecrets(tmp_path)
        page = Whole(bus, tmp_path)
        for name in PROVIDERS:
            page.endpoint(f"{name}.acme.ci", SECRET)
        page.endpoint("operator.jo", TOKEN)
        page.endpoint("reader.acme.x", "mine")
        callers = Callers(secrets)
        visitors = Visitors(callers, clock=page.clock, is_open=True)
        site = Site(page.context, Colonies(), visitors, SERVICES)
        hooks = WebhookReceiver(page.context, secrets, Rate(1e6, 10**6), Here())
        page.routes = (*hooks.routes(), *InventoryApi(bus, callers).routes(), *site.routes())
        page.url = await stack.enter_async_context(opened("127.0.0.1:0", page.routes))
        page.session = await stack.enter_async_context(aiohttp.ClientSession())
        following = asyncio.ensure_future(site.run())  # else its graph waits two seconds for what is kept
        stack.push_async_callback(ended, following)
        consuming = bus.consume(Consumer("gateway-intake", "INTAKE", ("cluster.requested",)))
        waiting = asyncio.ensure_future(anext(consuming))
        await asyncio.sleep(0)
        await page.dead_letter()
        yield page
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


def path_of(route: HttpRoute) -> str:
    return PART.sub(lambda part: NAMES.get(part[1], "x"), route.path)


@pytest.mark.parametrize("headers", STRANGERS.values(), ids=STRANGERS)
async def test_a_stranger_moves_no_letter_at_any_endpoint(edge: Whole, headers):
    for route in edge.routes:
        for method in METHODS if not route.lasts else ():
            body = b"{}" if method in ("POST", "PUT", "PATCH") else None
            await edge.ask(method, path_of(route), headers=headers, data=body)
    assert edge.bus.moved == []


async def test_an_operator_does_at_one(edge: Whole):
    moving = []
    for route in edge.routes:
        for method in METHODS if not route.lasts else ():
            before = len(edge.bus.moved)
            await edge.ask(method, path_of(route), headers=JO, data=b"{}" if method == "POST" else None)
            moving += [(method, route.path)] if len(edge.bus.moved) > before else []
    assert moving == [("POST", "/letters/{which}/redrive")]
    assert edge.bus.moved == ["redrive.INTAKE.gateway-intake.dlq-1.cluster.requested", "DLQ/1"]
