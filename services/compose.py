"""The composition root: every service is put together here, from real or from fake ports."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from events.kube.client import Kube
from schemas.member import ServiceMember
from services.addons.service import AddonSettings, Background
from services.addons.service import service as addons_service
from services.clients.catalog_sources import CatalogSource
from services.clients.workload_clusters import WorkloadClusters
from services.clouds.port import Cloud
from services.edge.service import CLOSED, EdgeAddress, EdgeService
from services.gateway.service import Gateway
from services.inventory.market.loop import MarketLoop
from services.inventory.read.labels import labels_of, no_labels
from services.inventory.service import Inventory
from services.outbound.service import NOBODY, Outbound, Receivers
from services.provisioning.service import service as provisioning_service
from services.roles import SERVICES as ROLES
from services.runtime.context import Context
from services.runtime.loop import Runtime, Service
from services.runtime.members import ServiceMembers
from services.runtime.read_model import ReadModel
from services.runtime.replica import Running, Standby, WithMembers
from services.teardown.service import service as teardown_service


@dataclass(frozen=True)
class Ports:
    """Everything a service meets the world through, and everything that comes in from outside."""

    context: Context
    management: Kube
    open_cluster: Callable[[str], Awaitable[Kube]]
    """From a kubeconfig's text to a client."""
    clouds: Mapping[str, Cloud]
    sources: tuple[CatalogSource, ...]
    """The price catalogs."""
    backend: str
    """The back end of a cluster whose Colony names none."""
    retention: timedelta = timedelta(days=7)
    priced: bool = True
    """False: no catalog is set, and nothing is bought."""
    control_planes: Mapping[str, float] = field(default_factory=dict)
    """USD per hour of a cluster's control plane, by cloud."""
    refresh: timedelta = timedelta(hours=6)
    """The time between two readings of the prices."""
    cost_every: timedelta = timedelta(minutes=1)
    """How often a status is written of which only the cost has changed."""
    half_life: timedelta = timedelta(minutes=30)
    """The time after which a refusal by a cloud counts half."""
    label_nodes: bool = False
    """Whether nodes of provisioned clusters get our labels."""
    door: EdgeAddress = CLOSED
    """Where the edge listens, and from whom it accepts requests."""
    addons: AddonSettings | None = None
    """Where add-ons' sources are kept; None: there are none but what is written in Colonies and profiles."""
    receivers: Receivers = NOBODY
    """The targets outside that events are delivered to."""
    replica: tuple[str, ServiceMember] | None = None
    """The name of this replica among those of each service, and what the others see of it; None: it is alone."""

    def workloads(self) -> WorkloadClusters:
        """Clients of provisioned clusters, each opened once per service."""
        return WorkloadClusters(self.management, self.open_cluster)


class EntityService:
    """A runtime with what runs beside its service: read models, object caches, controllers, and clients of clusters."""

    def __init__(
        self,
        ports: Ports,
        service: Service,
        views: tuple[ReadModel[Any, Any], ...] = (),
        background: tuple[Background, ...] = (),
        workloads: WorkloadClusters | None = None,
    ) -> None:
        self.runtime = Runtime(service, ports.context, retention=ports.retention)
        self._views = views
        self._background = background
        self._workloads = workloads

    @property
    def ready(self) -> asyncio.Event:
        """Set once every entity's state is known."""
        return self.runtime.ready

    async def run(self) -> None:
        """Start with the read models: nothing is decided before they are complete."""
        try:
            await self._run()
        finally:
            if self._workloads is not None:
                await self._workloads.close()

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for each in self._background:
                group.create_task(each.run())
            for view in self._views:
                group.create_task(view.run())
                await view.ready.wait()
            await self.runtime.run()


def gateway(ports: Ports) -> Running:
    return Gateway(ports.context, ports.management, ports.clouds, backend=ports.backend, cost_every=ports.cost_every)


def _market(ports: Ports) -> MarketLoop:
    return MarketLoop(
        ports.context,
        ports.sources,
        refresh=ports.refresh,
        half_life=ports.half_life,
        control_planes=ports.control_planes,
    )


def inventory(ports: Ports) -> Running:
    return Inventory(
        ports.context,
        ports.workloads(),
        _market(ports),
        management=ports.management,
        labels=labels_of if ports.label_nodes else no_labels,
    )


def provisioning(ports: Ports) -> Running:
    caches = tuple(each for cloud in ports.clouds.values() for each in cloud.caches)
    service, views = provisioning_service(ports.context, ports.clouds, priced=ports.priced)
    return EntityService(ports, service, views, caches)


def addons(ports: Ports) -> Running:
    workloads = ports.workloads()
    service, views, background = addons_service(ports.context, ports.management, workloads, ports.addons)
    return EntityService(ports, service, views, background, workloads)


def teardown(ports: Ports) -> Running:
    workloads = ports.workloads()
    return EntityService(ports, teardown_service(ports.context.bus, workloads, ports.clouds), workloads=workloads)


def edge(ports: Ports) -> Running:
    return EdgeService(ports.context, ports.management, ports.door, ROLES)


def outbound(ports: Ports) -> Running:
    return Outbound(ports.context, ports.receivers)


SERVICES: Mapping[str, Callable[[Ports], Running]] = {
    "gateway": gateway,
    "inventory": inventory,
    "provisioning": provisioning,
    "addons": addons,
    "teardown": teardown,
    "edge": edge,
    "outbound": outbound,
}
"""Every service, by the name the Procfile and ``python -m services`` use."""
ONE_AT_A_TIME = frozenset({"addons"})
"""Services that work in one replica at a time: see `Standby`."""


def composed(name: str, ports: Ports) -> Running:
    """A service put together, beside the entry of its replica among the members."""
    if ports.replica is None:
        return SERVICES[name](ports)
    members = ServiceMembers(ports.context, name, *ports.replica)
    own = replace(ports, context=replace(ports.context, share=members))
    if name in ONE_AT_A_TIME:
        return WithMembers(members, Standby(name, members, lambda: SERVICES[name](own)))
    return WithMembers(members, SERVICES[name](own))
