"""A house with a Colony's kind known and the way to its cluster, and a server on this host."""

from datetime import UTC, datetime
from itertools import count

import pytest
from aiohttp import web

from events.kube.resources import CRDS
from schemas.crds import manifest
from services.sandbox.api.server.app import Api
from services.sandbox.api.store.journal import MemoryJournal
from tests.services.addons.house import House
from tests.services.addons.sources.world import Web

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
async def house():
    numbers = count(1)
    api = Api(MemoryJournal(), lambda: START, lambda: f"uid-{next(numbers)}")
    await api.start()
    await api.found("w")
    made = House(api)
    await made.management.create(CRDS, manifest())
    await made.secret()
    yield made
    await api.close()


@pytest.fixture
async def server():
    """An HTTP server on this host."""
    made = Web()
    app = web.Application(client_max_size=1 << 26)
    app.router.add_route("*", "/{path:.*}", made.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield made
    await runner.cleanup()
