"""The five services in this process, on a real bus and a real API server, each with connections of its own."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Self, TypeVar

from events.bus import Bus
from events.jetstream.bus import connect
from events.kube.auth import TRUSTED, transport_of
from events.kube.client import Kube, Transport
from events.telemetry import Meters
from services.clients.catalog_sources import CatalogSource
from services.clouds.port import backends
from services.compose import SERVICES, Ports
from services.runtime.context import Context

T = TypeVar("T")
LOOK = 0.2
"""Seconds between two looks at something in another process."""


@dataclass
class Running:
    """One service at work, and what it holds."""

    task: asyncio.Task[None]
    bus: Bus
    kube: Kube
    opened: list[Kube]

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.wait((self.task,))
        await self.bus.close()
        for kube in (self.kube, *self.opened):
            await kube.close()


@dataclass
class Services:
    """All five; ``async with`` starts and stops them. `bus` and `kube` are a test's own ways in."""

    nats: str
    way: Callable[[], Transport]
    """A way of the services' own into the management cluster."""
    sources: tuple[CatalogSource, ...]
    backend: str
    kube: Kube
    skew: timedelta = timedelta()
    """How far the services' clock is ahead of everybody else's."""
    bus: Bus = field(init=False)
    running: dict[str, Running] = field(default_factory=dict, init=False)

    async def __aenter__(self) -> Self:
        self.bus = await connect(self.nats, name="story")
        for name in SERVICES:
            await self.start(name)
        return self

    async def __aexit__(self, *_: object) -> None:
        for name in tuple(self.running):
            await self.stop(name)
        await self.bus.close()

    async def start(self, name: str) -> None:
        bus, kube, opened = await connect(self.nats, name=name), Kube(self.way(), random=random.random), []

        async def open_cluster(kubeconfig: str) -> Kube:
            opened.append(Kube(await transport_of(kubeconfig, allowed=TRUSTED), random=random.random))
            return opened[-1]

        ports = Ports(
            context=Context(bus, lambda: now() + self.skew, random.random, Meters()),
            management=kube,
            open_cluster=open_cluster,
            clouds=backends(kube),
            sources=self.sources,
            backend=self.backend,
        )
        self.running[name] = Running(asyncio.create_task(SERVICES[name](ports).run()), bus, kube, opened)

    async def stop(self, name: str) -> None:
        await self.running.pop(name).stop()

    def check(self) -> None:
        """Raise what a service has ended with, if one has."""
        for name, running in self.running.items():
            if running.task.done():
                running.task.result()
                raise AssertionError(f"{name} ended by itself")

    async def until(self, look: Callable[[], Awaitable[T | None]], within: float) -> T:
        """What `look` gives once it gives something. Raises TimeoutError, and what a service ended with."""
        async with asyncio.timeout(within):
            while True:
                self.check()
                found = await look()
                if found:
                    return found
                await asyncio.sleep(LOOK)


def now() -> datetime:
    return datetime.now(UTC)


async def ended(*tasks: asyncio.Task[None]) -> None:
    """Cancel and wait."""
    for task in tasks:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
