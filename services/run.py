"""Runs services in one process: reads settings, opens ports, runs until stopped."""

import asyncio
import os
import random
import socket
import time
from collections.abc import AsyncGenerator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib.metadata import version
from uuid import uuid4

import structlog

from events.backoff import Rate
from events.bus import Bus
from events.http.addresses import IpNetwork, Reach, own
from events.jetstream.bus import connect
from events.kube.auth import transport, transport_of
from events.kube.client import Kube
from events.kube.limits import FOUNDED
from events.streams import STREAMS
from events.telemetry import Meters
from schemas.member import ServiceMember
from services.addons.service import AddonSettings
from services.addons.sources.request import SourceSettings
from services.clients.catalog_sources import sources
from services.clouds.port import backends
from services.compose import Ports, composed
from services.edge.service import EdgeAddress
from services.outbound.sender import sending
from services.outbound.service import Receivers
from services.process import logs, telemetry
from services.process.gc_tuning import settle
from services.process.health import ProcessHealth, served
from services.process.settings import Settings, allowed
from services.process.signals import until_told
from services.runtime.context import Context
from services.runtime.replica import Running

SETUP = "setup"
"""Who makes the streams, once, so that no service needs the right to."""
PRICED = "alate.catalog.configured"
"""Whether price catalogs are configured: 1, or 0 where clusters are placed without prices."""

log = structlog.get_logger()


async def run(names: tuple[str, ...], settings: Settings) -> None:
    """Run services in this process until it is told to stop. Raises Unavailable, Denied, OSError at the start."""
    title = "+".join(names)
    logs.set_up(title, form=settings.log_format, level=settings.log_level)
    meters = Meters()
    async with AsyncExitStack() as stack:
        stack.callback(telemetry.set_up(settings, title, meters))
        ports = await stack.enter_async_context(_ports(title, settings, meters))
        running = [composed(name, ports) for name in names]
        health = ProcessHealth(time.monotonic, trouble=lambda: ports.context.bus.trouble)
        metrics = telemetry.exposition(title, meters) if settings.prometheus else None
        address = await stack.enter_async_context(served(settings.health_address, health, metrics))
        report_catalog(settings, names, meters)
        log.info("process.serving", health=address, services=names)
        try:
            await until_told(_all(running, health))
        except asyncio.CancelledError:
            log.info("process.leaving")
        log.info("process.left", services=names)


def report_catalog(settings: Settings, names: Iterable[str], meters: Meters) -> None:
    """Say of the services that work with prices whether there are any: the shipped sample is never used by default."""
    priced = {"inventory", "provisioning"}.intersection(names)
    for name in priced:
        meters.gauge(PRICED, name, {(("service", name),): float(bool(settings.catalog))})
    if priced and not settings.catalog:
        log.warning("catalog.missing", services=sorted(priced), setting="ALATE_CATALOG")


async def _all(running: Iterable[Running], health: ProcessHealth) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(health.beat())
        services = [(one, group.create_task(one.run())) for one in running]
        for one, _ in services:
            await one.ready.wait()
        settle()
        health.ready = True


@asynccontextmanager
async def _ports(title: str, settings: Settings, meters: Meters) -> AsyncGenerator[Ports]:
    kube = Kube(await transport(settings.kubeconfig, settings.context), random=random.random)
    bus = await join(settings, title, meters)
    network = own(os.environ.get("KUBERNETES_SERVICE_HOST", ""), settings.own_ranges)
    try:
        yield Ports(
            context=Context(bus, lambda: datetime.now(UTC), random.random, meters),
            management=kube,
            open_cluster=partial(_open_cluster, allowed(settings.clusters_allow), network),
            clouds=backends(kube),
            sources=sources(settings.catalog, Reach(allowed(settings.catalog_allow), "ALATE_CATALOG_ALLOW", network)),
            priced=bool(settings.catalog),
            control_planes=settings.control_planes,
            refresh=timedelta(hours=settings.catalog_hours),
            cost_every=timedelta(seconds=settings.cost_seconds),
            half_life=timedelta(minutes=settings.capacity_half_life_minutes),
            backend=settings.backend,
            label_nodes=settings.label_nodes,
            retention=timedelta(days=settings.retention_days),
            door=_door(settings),
            addons=_addons(settings, network),
            receivers=_receivers(settings, network),
            replica=_replica(settings),
        )
    finally:
        await bus.close()
        await kube.close()


def _replica(settings: Settings) -> tuple[str, ServiceMember]:
    host = socket.gethostname()
    about = ServiceMember(host=host, version=version("alate"), since=datetime.now(UTC))
    return settings.member or f"{host}-{uuid4().hex[:8]}", about


def _addons(settings: Settings, network: frozenset[IpNetwork | str]) -> AddonSettings:
    reach = Reach(allowed(settings.sources_allow), "ALATE_SOURCES_ALLOW", network)
    return AddonSettings(settings.state_dir / "addons", SourceSettings(reach))


def _receivers(settings: Settings, network: frozenset[IpNetwork | str]) -> Receivers:
    reach = Reach(allowed(settings.outbound_allow), "ALATE_OUTBOUND_ALLOW", network)
    return Receivers(settings.outbound_targets, settings.outbound_secrets, partial(sending, reach=reach))


def _door(settings: Settings) -> EdgeAddress:
    rate = Rate(settings.edge_rate, max(1, int(4 * settings.edge_rate)))
    return EdgeAddress(settings.edge_address, settings.edge_secrets, rate, settings.edge_open, settings.triggers)


async def join(settings: Settings, name: str, meters: Meters | None = None) -> Bus:
    """The bus. Whoever shows a key may make no streams: `set_up` makes them. An open NATS gets them from us."""
    own = settings.credentials()
    streams = STREAMS if own.anyone else ()
    return await connect(settings.nats_url, name=name, streams=streams, credentials=own, meters=meters)


async def set_up(settings: Settings) -> None:
    """Make the streams, or set right what differs. Raises Unavailable, Denied."""
    streams = tuple(replace(spec, replicas=settings.nats_replicas) for spec in STREAMS)
    bus = await connect(settings.nats_url, name=SETUP, streams=streams, credentials=settings.credentials())
    await bus.close()


async def _open_cluster(may: frozenset[str], network: frozenset[IpNetwork | str], kubeconfig: str) -> Kube:
    return Kube(await transport_of(kubeconfig, allowed=may, own=network), random=random.random, bounds=FOUNDED)
