"""Real parts for every test: a nats-server of its own, in a folder that goes away."""

import asyncio
import gc
from collections.abc import AsyncIterator, Generator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings

from events.jetstream.server import NatsServer

# Before 3.14 pytest-asyncio's look at "the loop before" makes one that nobody closes; None says there is none.
asyncio.set_event_loop(None)


# How fast a busy machine is, is no property of ours.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")

# Rich takes a tenth of a second to draw one traceback, and there are tests that log hundreds.
structlog.configure(
    processors=[
        *structlog.get_config()["processors"][:-1],
        structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
    ]
)

IN_PROCESS = pytest.mark.looptime(noop_cycles=0)
"""Virtual time moves as soon as nothing can run: nothing comes from outside the process that 42 idle turns of the loop
would have to be left for. A test where something does says so by a mark of its own.
"""
CROWDS = ("containers", "kube")
"""Marks of tests that start very many processes: `make test` runs them in one process, when all others are done."""


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect without looking for garbage: there is none among modules and items, and what is there stays for good."""
    del session
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before pytest chooses by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark those that want the machine to themselves, let virtual time move at once, and begin with what waits most."""
    for item in items:
        if item.get_closest_marker("looptime"):
            item.add_marker(IN_PROCESS)
        if any(item.get_closest_marker(name) for name in CROWDS):
            item.add_marker("alone")
    items.sort(key=lambda item: item.get_closest_marker("stack") is None)


@pytest.fixture
async def nats_server(tmp_path: Path) -> AsyncIterator[NatsServer]:
    """A running server with JetStream (30 ms to start, 3 to stop: cheap enough for one per test)."""
    async with NatsServer(tmp_path / "nats") as server:
        yield server
