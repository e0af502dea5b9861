"""The sandbox process: objects in JetStream, the API over HTTPS, simulated clouds behind it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from uuid import uuid4

import structlog
import uvloop

from events.jetstream.bus import connect
from events.jetstream.credentials import NOBODY, NkeyCredentials
from services.clients.catalog_sources import SAMPLE
from services.market.catalog_parser import read_folder
from services.process import logs
from services.process.gc_tuning import settle
from services.process.secret_file import write_private
from services.process.settings import load as shared
from services.process.signals import until_told
from services.sandbox.api.server.app import MANAGEMENT, Api
from services.sandbox.api.server.http import Server
from services.sandbox.api.server.kubeconfig import kubeconfig
from services.sandbox.api.store.journal import KUBE, BusJournal
from services.sandbox.clouds.engine.manager import Clouds
from services.sandbox.clouds.engine.workload_manager import WorkloadSimulation
from services.sandbox.clouds.model.pace import Pace
from services.sandbox.clouds.model.shapes import shapes
from services.sandbox.clouds.model.snapshot import SimulationRules
from services.sandbox.seeds.plant import seed
from services.sandbox.settings import SandboxSettings, load
from services.sandbox.state import identity, seal, token
from services.sandbox.world import SandboxWorld

log = structlog.get_logger()


def main() -> int:
    """Run until stopped; returns exit code 0. Raises BadSetting, OSError, Unavailable, Denied at the start."""
    uvloop.run(run(load(), shared().credentials()))
    return 0


async def run(settings: SandboxSettings, credentials: NkeyCredentials = NOBODY) -> None:
    """Serve until stopped."""
    logs.set_up("sandbox", form=settings.log_format, level=settings.log_level)
    try:
        await until_told(_serve(settings, credentials))
    except asyncio.CancelledError:
        log.info("sandbox.connection_closed")


async def _serve(settings: SandboxSettings, credentials: NkeyCredentials) -> None:
    async with AsyncExitStack() as stack:
        bus = await connect(settings.nats_url, name="sandbox", streams=(KUBE,), credentials=credentials)
        stack.push_async_callback(bus.close)
        api = Api(BusJournal(bus, uuid4().hex), _now, lambda: str(uuid4()))
        world = await stack.enter_async_context(_world(api, settings))
        await _work(api, world, settings)


@asynccontextmanager
async def _world(api: Api, settings: SandboxSettings) -> AsyncGenerator[SandboxWorld]:
    """Start the API with its seeds, each cluster behind its token."""
    who, secret = identity(settings.state_dir, _now()), seal(settings.state_dir)
    await api.start()
    server = Server(api, settings.port, who.context(settings.state_dir))
    try:
        own = api.tokens[MANAGEMENT] = token(secret, MANAGEMENT)
        world = SandboxWorld(api, secret, who.certificate)
        await world.restore()
        await seed(world.kube(MANAGEMENT))
        await server.start()
        world.url = server.url
        if anew := await world.reissue():
            log.info("sandbox.kubeconfigs_rewritten", kubeconfigs=anew, url=server.url)
        config = kubeconfig(server.url, MANAGEMENT, who.certificate, own)
        write_private(settings.kubeconfig, config.encode())
        log.info("sandbox.serving", url=server.url)
        yield world
    finally:
        await api.close()  # ends every watch, so that the server has nobody to wait for
        await server.stop()


async def _work(api: Api, world: SandboxWorld, settings: SandboxSettings) -> None:
    pace = Pace().times(settings.speed)
    offers = (offer for catalog in read_folder(SAMPLE).values() for offer in catalog.offers)
    clouds = Clouds(world.kube(MANAGEMENT), world, SimulationRules(pace=pace, shapes=shapes(offers)), _now)
    workloads = WorkloadSimulation(world, api.holds, _now, pace.pod)
    api.follow(lambda place, group, plural: _tell(workloads, place, group, plural))
    settle()
    async with asyncio.TaskGroup() as group:
        group.create_task(clouds.run())
        group.create_task(workloads.run(place for place in api.clusters if place != MANAGEMENT))


def _tell(workloads: WorkloadSimulation, place: str, group: str, plural: str) -> None:
    if place != MANAGEMENT:  # nothing runs inside the management cluster
        workloads.changed(place, group, plural)


def _now() -> datetime:
    return datetime.now(UTC)
