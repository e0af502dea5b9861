"""Real parts for every test: a nats-server of its own, in a folder that goes away."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from events.jetstream.server import NatsServer

# Before 3.14 pytest-asyncio's look at "the loop before" makes one that nobody closes; None says there is none.
asyncio.set_event_loop(None)


# How fast a busy machine is, is no property of ours.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")

CROWDS = ("containers", "kube", "stack")
"""Marks of tests that start many processes: `make test` runs them in one process, when all others are done."""


@pytest.hookimpl(tryfirst=True)  # before pytest chooses by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark those that want the machine to themselves."""
    for item in items:
        if any(item.get_closest_marker(name) for name in CROWDS):
            item.add_marker("alone")


@pytest.fixture
async def nats_server(tmp_path: Path) -> AsyncIterator[NatsServer]:
    """A running server with JetStream (30 ms to start, 3 to stop: cheap enough for one per test)."""
    async with NatsServer(tmp_path / "nats") as server:
        yield server
