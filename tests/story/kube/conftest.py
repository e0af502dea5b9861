"""A management cluster that is real, with simulated or real clouds behind it."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from events.jetstream.server import NatsServer
from events.kube.client import Kube, Object, Transport
from services.cli.demo.leftovers import Objects
from services.cli.demo.play import Play
from services.cli.demo.run import COLONY
from services.cli.demo.story import Story
from services.cli.request.colony import from_file
from services.clients.catalog_sources import SAMPLE, CatalogFiles
from services.market.catalog_parser import read_folder
from services.sandbox.clouds.engine.manager import Clouds
from services.sandbox.clouds.model.pace import Pace
from services.sandbox.clouds.model.shapes import shapes
from services.sandbox.clouds.model.snapshot import SimulationRules
from tests.kube.fixtures import needs, planes
from tests.kube.plane import PARTS, ControlPlane
from tests.story.kube.between import Between, Weather
from tests.story.kube.count import settled
from tests.story.kube.ready import prepared
from tests.story.kube.services import Services, ended, now
from tests.story.kube.world import RealWorld

__all__ = ["planes"]


@dataclass
class Stage:
    """A management cluster, its clouds, the services, and who listens to all of it."""

    plane: ControlPlane
    world: RealWorld
    kube: Kube
    services: Services
    play: Play
    before: Objects
    weather: Weather = field(default_factory=Weather)
    """Between the services and the management cluster."""


@pytest.fixture
def management(planes: Callable[..., ControlPlane]) -> ControlPlane:
    """An API server with the controllers that collect what belongs to nobody."""
    return planes("kube-controller-manager")


@pytest.fixture
def world(request: pytest.FixtureRequest, tmp_path: Path) -> RealWorld:
    """Where clusters are founded; a test may name another kind of world."""
    needs(*PARTS)
    return getattr(request, "param", RealWorld)(tmp_path / "world")


@pytest.fixture
async def stage(management: ControlPlane, world: RealWorld, nats_server: NatsServer):
    """``async with stage(backend) as it``: simulated clouds that found real clusters.

    `skew` is how far the services' clock is ahead of everybody else's.
    """

    @asynccontextmanager
    async def staged(backend: str, skew: timedelta = timedelta()) -> AsyncIterator[Stage]:
        async with AsyncExitStack() as at_end:
            kube = await _kube(management.transport(), at_end)
            await prepared(kube)
            before = await settled(kube)
            weather = Weather()
            at_end.push_async_callback(world.close)
            await _at_work(Clouds(await _kube(management.transport(), at_end), world, _laws(), now).run(), at_end)
            way = lambda: Between(management.transport(), weather)  # noqa: E731 - one line says it
            services = Services(nats_server.url, way, (CatalogFiles(SAMPLE),), backend, kube, skew)
            await at_end.enter_async_context(services)
            play = Play(services.bus, kube, Story())
            await _at_work(play.follow(), at_end)
            yield Stage(management, world, kube, services, play, before, weather)

    return staged


@pytest.fixture
def train() -> Object:
    """The Colony that `deploy/` ships: 16 H100, two add-ons, one of them a Job."""
    (colony,) = from_file(COLONY, None)
    return colony


async def _kube(transport: Transport, at_end: AsyncExitStack) -> Kube:
    kube = Kube(transport, random=random.random)
    at_end.push_async_callback(kube.close)
    return kube


async def _at_work(what, at_end: AsyncExitStack) -> None:
    at_end.push_async_callback(ended, asyncio.ensure_future(what))


def _laws() -> SimulationRules:
    offers = (offer for catalog in read_folder(SAMPLE).values() for offer in catalog.offers)
    return SimulationRules(pace=Pace(), shapes=shapes(offers))
