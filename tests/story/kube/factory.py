"""The services over the real Cluster API controllers, whose provider keeps its machines in memory."""

import asyncio
import random
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import pytest

from events.errors import NotFound
from events.kube.client import Changed, Kube, Object, Resource
from events.kube.resources import CLUSTERS, COLONIES
from schemas.subjects import Key
from services.cli.demo.leftovers import Objects
from services.cli.demo.play import Play
from services.cli.demo.story import Story
from services.clients.catalog_sources import CatalogFiles
from tests.kube.fixtures import needs
from tests.kube.managers import NAMES, Managers
from tests.story.kube.count import counted, settled
from tests.story.kube.ready import prepared
from tests.story.kube.services import Services, ended

CATALOG = """\
InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,SpotPrice,Region,AvailabilityZone
in-memory,H100,8.0,4.0,16.0,1.0,,here,
in-memory,H100,8.0,4.0,16.0,2.0,,there,
"""


@dataclass
class Factory:
    """What a test holds of it, and what a watch saw."""

    services: Services
    play: Play
    before: Objects
    seen: list[Object] = field(default_factory=list)
    """Every shape of every Cluster."""
    phases: list[str | None] = field(default_factory=list)
    """Every Colony's, as they came."""

    @property
    def kube(self) -> Kube:
        return self.services.kube

    async def watch(self, resource: Resource, take) -> None:
        async for sight in self.kube.watch(resource):
            if isinstance(sight, Changed) and not sight.gone:
                take(sight.object)

    def workers(self, cluster: str | None = None) -> list[bool]:
        """Of every worker that the inventory says is there, whether it is ready."""
        found = [
            each
            for (of, _), each in self.play.story.nodes.items()
            if of == (cluster or of) and each.present and not each.control_plane
        ]
        return [each.ready and each.freshness == "known" for each in found]

    async def has_workers(self, number: int, cluster: str | None = None, within: float = 120) -> None:
        """Wait until so many workers are there, and all are ready."""

        async def look() -> bool:
            return self.workers(cluster) == [True] * number

        await self.services.until(look, within)

    async def tell_their_pools(self, *pools: str) -> None:
        """Wait until the workers that are there are of these pools, as their nodes tell."""

        async def look() -> bool:
            nodes = self.play.story.nodes.values()
            return sorted(each.pool for each in nodes if each.present and not each.control_plane) == sorted(pools)

        await self.services.until(look, 60)

    async def condition(self, name: str, type_: str, status: str) -> None:
        async def look() -> bool:
            told = (await self.kube.get(CLUSTERS, name, "default")).get("status", {}).get("conditions", ())
            return any(one["type"] == type_ and one["status"] == status for one in told)

        await self.services.until(look, 120)

    async def gone(self, colony: str, within: float = 120) -> None:
        """Delete it, and wait until it is not there any more."""
        await self.kube.delete(COLONIES, colony, "default")

        async def look() -> bool:
            try:
                await self.kube.get(COLONIES, colony, "default")
            except NotFound:
                return True
            return False

        await self.services.until(look, within)

    async def clean(self, expected: frozenset[Key]) -> None:
        """Raises AssertionError, with the last count, unless everything comes to zero."""
        last = []

        async def look() -> bool:
            last.append(await counted(self.services.bus, self.kube, self.before, expected))
            return last[-1].clean

        try:
            await self.services.until(look, 60)
        except TimeoutError as late:
            raise AssertionError(last[-1]) from late


@pytest.fixture
async def factory(management, tmp_path, nats_server):
    needs(*NAMES)
    (tmp_path / "dev.csv").write_text(CATALOG)
    async with AsyncExitStack() as at_end:
        kube = Kube(management.transport(), random=random.random)
        at_end.push_async_callback(kube.close)
        await prepared(kube)
        at_end.enter_context(Managers(management))
        before = await settled(kube)
        services = Services(nats_server.url, management.transport, (CatalogFiles(tmp_path / "dev.csv"),), "capi", kube)
        await at_end.enter_async_context(services)
        found = Factory(services, Play(services.bus, kube, Story()), before)
        at_work = (
            found.play.follow(),
            found.watch(CLUSTERS, found.seen.append),
            found.watch(COLONIES, lambda shown: found.phases.append(shown.get("status", {}).get("phase"))),
        )
        at_end.push_async_callback(ended, *map(asyncio.ensure_future, at_work))
        yield found
