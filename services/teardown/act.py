"""The teardown service's calls: drain a cluster, clean it, and count what is left."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec
import structlog

from events.bus import Bus
from events.errors import Denied, Fault, TryLater
from events.kube.client import Kube, Object
from events.kube.resources import PODS
from events.streams import is_tombstone
from schemas.addon import Withdrawn, addon_name
from schemas.profile_addons import ProfileAddons
from schemas.registry import Stream, declared
from schemas.subjects import Key
from schemas.teardown import (
    AddonsListed,
    AuditCluster,
    Audited,
    Blocked,
    CleanedUp,
    Cleaning,
    CleanUp,
    CountAddons,
    Drain,
    Drained,
    Draining,
    ListAddons,
    Verifying,
)
from services.clients.workload_clusters import NoKubeconfigYet, WorkloadClusters
from services.clouds.port import Cloud
from services.runtime.loop import Act, acts
from services.runtime.machine import Event, Waits
from services.teardown import cluster_cleanup

RECHECK = 1.0
"""Seconds between two looks at what is being deleted."""
LOOK_TIMEOUT = 60.0
"""Seconds that one look may take; what was done in it stays done."""
UNAUTHORIZED = ("Unauthorized", "Forbidden")
"""Reasons by which the management cluster refuses to show a Secret."""
MAX_TEXT = 500
"""Characters of what people read about a step that waits."""

StepState = type[Draining] | type[Cleaning] | type[Verifying]
ClusterWork = Callable[[Kube, Sequence[Object]], Awaitable[str]]
"""Runs in the cluster with its Pods; returns what it waits for, empty once it is done."""

log = structlog.get_logger()


class TeardownCalls:
    """Executes each command; its ports are the workload clusters, the back ends and the bus."""

    def __init__(self, bus: Bus, workloads: WorkloadClusters, clouds: Mapping[str, Cloud]) -> None:
        self._bus = bus
        self._workloads = workloads
        self._clouds = clouds

    async def list(self, command: ListAddons) -> tuple[Event, ...]:
        """The add-ons that profiles gave the cluster; no event without any."""
        subject = declared(ProfileAddons).at(command.tenant, command.cluster)
        stored = await self._bus.last(Stream.LEVELS, subject)
        if stored is None or is_tombstone(stored):
            return ()
        level = msgspec.json.decode(stored.data, type=ProfileAddons)
        if level.uid != command.uid:
            return ()
        names = (*(ref.name for ref in level.addons), *(one.name for one in level.dropped))
        return (AddonsListed(names),) if names else ()

    async def drain(self, command: Drain) -> tuple[Event, ...]:
        """Stop new work and end what runs. Raises Waits as long as something runs."""
        await self._within(Draining, command, cluster_cleanup.drain)
        return (Drained(),)

    async def sweep(self, command: CleanUp) -> tuple[Event, ...]:
        """Delete what would still cost money after the cluster. Raises Waits as long as any of it exists."""
        await self._within(Cleaning, command, cluster_cleanup.sweep)
        return (CleanedUp(),)

    async def count(self, command: CountAddons) -> tuple[Event, ...]:
        """The add-ons that are withdrawn."""
        return tuple(
            [e for name in command.addons if (e := await _read_withdrawn(self._bus, command, name)) is not None]
        )

    async def audit(self, command: AuditCluster) -> tuple[Event, ...]:
        """The proof that nothing is left. Raises Waits as long as something is, or cannot be counted."""
        tenant, name = command.wish.tenant, command.wish.name
        cloud = self._clouds.get(command.wish.need.backend)
        try:
            found = await cloud.leftovers(tenant, name) if cloud else {}
        except Fault as fault:
            raise _waits(Verifying, f"what is left cannot be looked for: {fault.message}") from fault
        found["timers"] = await self._bus.count(Stream.EVENTS, Key("cluster", tenant, name).timer)
        if any(found.values()):
            left = ", ".join(f"{count} {what}" for what, count in sorted(found.items()) if count)
            raise _waits(Verifying, f"{left} left")
        return (Audited(found),)

    async def _within(self, step: StepState, command: Drain | CleanUp, work: ClusterWork) -> None:
        """Run it in the cluster, if that has an API. Raises Waits as long as it is not done, for any reason."""
        if command.kubeconfig:
            what, answered = await self._look(command, work)
            if what:
                raise _waits(step, what, answered=answered)

    async def _look(self, command: Drain | CleanUp, work: ClusterWork) -> tuple[str, bool]:
        """What it waits for, and whether the cluster has answered, or might have but for the management cluster."""
        answered = False
        try:
            async with asyncio.timeout(LOOK_TIMEOUT):
                kube = await self._open(command)
                pods = (await kube.list(PODS)).items
                answered = True
                return await work(kube, pods), True
        except _ManagementUnavailable as later:
            return f"the cluster's kubeconfig cannot be read: {later.message}", True
        except Fault as fault:
            refused = answered and isinstance(fault, Denied)
            return f"the cluster's API {'refused' if refused else 'cannot be reached'}: {fault.message}", answered
        except TimeoutError:
            return f"the cluster's API took more than {LOOK_TIMEOUT:g} seconds to answer", answered
        except Exception as wrong:  # whatever others' servers answer must not keep their machines
            log.exception("cluster.unreadable", tenant=command.tenant, secret=command.kubeconfig)
            return f"the cluster's API gives answers that cannot be read ({type(wrong).__name__})", False

    async def _open(self, command: Drain | CleanUp) -> Kube:
        try:
            return await self._workloads.open(command.tenant, command.kubeconfig)
        except NoKubeconfigYet:
            raise
        except TryLater as later:
            raise _ManagementUnavailable(later.message) from later
        except Denied as refused:
            if refused.reason not in UNAUTHORIZED:  # the kubeconfig itself is no good, which nothing will change
                raise
            raise _ManagementUnavailable(refused.message) from refused


class _ManagementUnavailable(TryLater):
    """The management cluster could not provide the kubeconfig, so the cluster itself was not contacted."""


def act(bus: Bus, workloads: WorkloadClusters, clouds: Mapping[str, Cloud]) -> Act:
    """The teardown service's side effects, by command."""
    calls = TeardownCalls(bus, workloads, clouds)
    return acts(
        {
            ListAddons: calls.list,
            Drain: calls.drain,
            CleanUp: calls.sweep,
            CountAddons: calls.count,
            AuditCluster: calls.audit,
        }
    )


def _waits(step: StepState, what: str, *, answered: bool = True) -> Waits:
    """Texts of others are shortened here."""
    line = " ".join(what.split())
    text = line if len(line) <= MAX_TEXT else f"{line[: MAX_TEXT - 1]}…"
    return Waits(text, RECHECK, event=Blocked(declared(step).phase, text, answered))


async def _read_withdrawn(bus: Bus, command: CountAddons, addon: str) -> Withdrawn | None:
    """The add-on's last state if it is withdrawn; one without any state counts as withdrawn."""
    key = Key("addon", command.tenant, addon_name(command.cluster, addon))
    stored = await bus.last(Stream.EVENTS, key.history)
    if stored is not None and not stored.subject.startswith("addon.withdrawn."):
        return None
    return Withdrawn(uid=command.uid, tenant=command.tenant, colony="", cluster=command.cluster, addon=addon, digest="")
