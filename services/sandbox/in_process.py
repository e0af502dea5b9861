"""The sandbox's Kubernetes API within this process, so that a program can use it without a server."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime

from events.kube.client import Kube
from services.sandbox.api.server.app import MANAGEMENT, Api
from services.sandbox.api.server.local import LocalTransport
from services.sandbox.api.store.journal import MemoryJournal


@asynccontextmanager
async def kubernetes(clock: Callable[[], datetime], new_uid: Callable[[], str]) -> AsyncIterator[Kube]:
    """A client of an empty management cluster that ends with the block."""
    api = Api(MemoryJournal(), clock, new_uid)
    await api.start()
    try:
        yield Kube(LocalTransport(api, MANAGEMENT), random=lambda: 0.0)
    finally:
        await api.close()
