"""Teardown's calls on the world: stopping work, sweeping the cluster, and looking for what is left."""

from collections.abc import Mapping

from events.bus import Bus
from events.faults import Denied, NotFound, TryLater
from events.kinds import NODES, PODS, PVCS, SERVICES, find
from events.kube import Kube, Object, Resource
from schemas.addon import Withdrawn, addon_name
from schemas.registry import Stream
from schemas.subjects import Key
from schemas.teardown import Audit, Audited, Count, Drain, Drained, Sweep, Swept
from services.clouds.marks import MANAGER
from services.clouds.port import Cloud
from services.machine import Event
from services.pods import finished, held
from services.runtime import Act, acts
from services.workloads import Workloads

LOOK_AGAIN = 1.0
"""Seconds between two looks at what is going."""


class Calls:
    """What each command comes to; the ports are the founded clusters, the back ends and the bus."""

    def __init__(self, bus: Bus, workloads: Workloads, clouds: Mapping[str, Cloud]) -> None:
        self._bus = bus
        self._workloads = workloads
        self._clouds = clouds

    async def drain(self, command: Drain) -> tuple[Event, ...]:
        """Let no work begin, and end what runs. Raises TryLater as long as some does."""
        kube = await _open(self._workloads, command.tenant, command.kubeconfig)
        if kube is not None:
            await _cordon(kube)
            busy = [pod for pod in (await kube.list(PODS)).items if held(pod) and not finished(pod)]
            await _delete(kube, PODS, busy)
        return (Drained(),)

    async def sweep(self, command: Sweep) -> tuple[Event, ...]:
        """Delete what would be paid for after the cluster. Raises TryLater as long as any of it is there."""
        kube = await _open(self._workloads, command.tenant, command.kubeconfig)
        if kube is not None:
            services = (await kube.list(SERVICES)).items
            balancers = [s for s in services if s["spec"].get("type") == "LoadBalancer"]
            await _delete(kube, SERVICES, balancers)
            await _delete(kube, PVCS, await _volumes(kube))
        return (Swept(),)

    async def count(self, command: Count) -> tuple[Event, ...]:
        """The add-ons that are off."""
        return tuple([e for name in command.addons if (e := await _withdrawn(self._bus, command, name)) is not None])

    async def audit(self, command: Audit) -> tuple[Event, ...]:
        """The proof that nothing is left. Raises TryLater as long as anything is."""
        tenant, name = command.wish.tenant, command.wish.name
        cloud = self._clouds.get(command.wish.need.backend)
        found = await cloud.leftovers(tenant, name) if cloud else {}
        found["timers"] = await self._bus.count(Stream.EVENTS, Key("cluster", tenant, name).timer)
        if any(found.values()):
            left = ", ".join(f"{count} {what}" for what, count in sorted(found.items()) if count)
            raise TryLater(f"{tenant}/{name} is not gone yet: {left} left", LOOK_AGAIN)
        return (Audited(found),)


def act(bus: Bus, workloads: Workloads, clouds: Mapping[str, Cloud]) -> Act:
    """The one place where teardown meets the world."""
    calls = Calls(bus, workloads, clouds)
    return acts({Drain: calls.drain, Sweep: calls.sweep, Count: calls.count, Audit: calls.audit})


async def _open(workloads: Workloads, tenant: str, secret: str) -> Kube | None:
    """The cluster's API; None where it never was up, or its kubeconfig is gone: there is nothing to do in it."""
    try:
        return await workloads.open(tenant, secret) if secret else None
    except NotFound:
        return None


async def _cordon(kube: Kube) -> None:
    for node in (await kube.list(NODES)).items:
        if not node["spec"].get("unschedulable"):
            patch: Object = {"spec": {"unschedulable": True}}
            await kube.patch(NODES, node["metadata"]["name"], None, patch, manager=MANAGER)


async def _volumes(kube: Kube) -> list[Object]:
    """Claims on disks; none where the API knows no such kind, as Cluster API's in-memory provider (v1.12.3)."""
    try:
        await find(kube, PVCS.api_version, PVCS.kind)
    except NotFound:
        return []
    return list((await kube.list(PVCS)).items)


async def _delete(kube: Kube, resource: Resource, items: list[Object]) -> None:
    """Ask for the end of each; raises TryLater as long as any is there."""
    for item in items:
        meta = item["metadata"]
        try:
            await kube.delete(resource, meta["name"], meta["namespace"], uid=meta.get("uid"))
        except NotFound:
            continue
        except Denied as denied:  # another incarnation bears the name: it is looked at the next time
            if denied.reason != "Conflict":
                raise
    if items:
        raise TryLater(f"{len(items)} {resource.plural} are going", LOOK_AGAIN)


async def _withdrawn(bus: Bus, command: Count, addon: str) -> Withdrawn | None:
    """The add-on's last word if that is withdrawn; one that never was anything counts as withdrawn."""
    key = Key("addon", command.tenant, addon_name(command.cluster, addon))
    stored = await bus.last(Stream.EVENTS, key.history)
    if stored is not None and not stored.subject.startswith("addon.withdrawn."):
        return None
    return Withdrawn(uid=command.uid, tenant=command.tenant, colony="", cluster=command.cluster, addon=addon, digest="")
