"""A management cluster in memory, and time that a test moves."""

import socket
from itertools import count

import pytest

from events.kube.client import Kube
from events.kube.resources import NAMESPACES
from services.sandbox.api.server.app import Api
from services.sandbox.api.server.local import LocalTransport
from services.sandbox.api.store.journal import MemoryJournal
from tests.services.addons.sources.world import START, World


@pytest.fixture
async def world(tmp_path):
    numbers = count(1)
    api = Api(MemoryJournal(), lambda: START, lambda: f"uid-{next(numbers)}")
    await api.start()
    made = World(Kube(LocalTransport(api, "management"), random=lambda: 0.5), tmp_path / "cache")
    for name in ("acme", "other"):
        await made.management.create(NAMESPACES, {"metadata": {"name": name}})
    yield made
    for each in made.opened:
        await each.close()
    await api.close()


@pytest.fixture
def resolving(monkeypatch):
    """The name rebind.example.org leads to private addresses."""
    plain = socket.getaddrinfo

    def lookup(host, *words, **more):
        return plain("10.0.0.1" if host == "rebind.example.org" else host, *words, **more)

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
