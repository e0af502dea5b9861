"""The addons service's calls: write an add-on's objects, wait for them, delete them."""

from events.errors import Denied, NotFound, TryLater
from events.kube.client import Kube, Object, Resource
from events.kube.discovery import find
from schemas.addon import AddonFailed, AddonHealthy, AddonPending, AddonRemoved, ApplyAddon, CheckAddon, WithdrawAddon
from schemas.wish import digest
from services.addons import spec
from services.addons.health import health
from services.addons.owned_objects import LABEL, OwnedObject, own_groups, owned_object
from services.addons.recheck import IsEnding, Rechecks
from services.addons.record import InventoryRecord, delete_record, extend_record, read_record, read_records
from services.addons.withdraw import Withdrawal
from services.clients.workload_clusters import NoKubeconfigYet, WorkloadClusters
from services.runtime.loop import Act, acts
from services.runtime.machine import Event

MANAGER = "alate-addons"
RECHECK = 1.0
"""Seconds between two looks at objects that are starting or being deleted."""


class MissingPrerequisite(TryLater):
    """Something it needs does not exist and may never come by itself: people are told."""


class AddonCalls:
    """Executes each command; its ports are the Colonies and the workload clusters."""

    def __init__(self, management: Kube, workloads: WorkloadClusters) -> None:
        self._management = management
        self._workloads = workloads

    async def apply(self, command: ApplyAddon) -> tuple[Event, ...]:
        """Write the add-on's objects. Raises TryLater until they are healthy, unless there is something to report."""
        lacking = command.told
        try:
            kube, wanted = await self._wanted(command)
            has = tuple(map(owned_object, wanted))
            had = await extend_record(kube, command.addon, has)
            written = [await _write(kube, document, command.addon, own_groups(has)) for document in wanted]
            lacking = ""
            reasons = await self._prune(kube, command, had, has)
            await _wait(kube, written)
            _check_all_gone(command.addon, reasons)
        except (Denied, NotFound, spec.UnreadableManifests) as refused:
            return (AddonFailed(command.digest, refused.message),)
        except TryLater as later:
            return _awaits(command, later, lacking)
        return (AddonHealthy(command.digest),)

    async def _wanted(self, command: ApplyAddon) -> tuple[Kube, list[Object]]:
        """The cluster and the objects to write. Raises MissingPrerequisite if the cluster cannot be opened."""
        text = await spec.manifests(self._management, command)
        if digest(text) != command.digest:
            raise TryLater(f"the Colony {command.tenant}/{command.colony} has changed since", RECHECK)
        return await _open(self._workloads, command), spec.documents(command, command.addon, text)

    async def _prune(
        self, kube: Kube, command: ApplyAddon, had: InventoryRecord, has: tuple[OwnedObject, ...]
    ) -> list[str]:
        """Delete what the add-on no longer consists of; see `Withdrawal.delete_all`."""
        stale = [one for one in had.has if one not in has]
        if not stale:
            return []
        stay = {**await spec.other_addons(self._management, command), command.addon: has}
        return await Withdrawal(
            kube, command.addon, stays=True, staying=stay, notes=await read_records(kube)
        ).delete_all(stale)

    async def withdraw(self, command: WithdrawAddon) -> tuple[Event, ...]:
        """Delete the add-on's objects, the last first. Raises TryLater as long as any is being deleted."""
        try:
            kube = await self._workloads.open(command.tenant, command.kubeconfig)
            had = (await read_record(kube, command.addon)).has or await self._written(command)
        except (
            NotFound,
            spec.UnreadableManifests,
        ):  # no cluster, no Colony, or no such add-on in it: nothing to be taken away
            return (AddonRemoved(),)
        stay = await spec.other_addons(self._management, command) if command.dropped else {}
        off = Withdrawal(kube, command.addon, command.stays, stay, await read_records(kube))
        reasons = await off.delete_all(had)
        _check_all_gone(command.addon, reasons)
        await delete_record(kube, command.addon)
        return (AddonRemoved("; ".join(reasons)),)

    async def _written(self, command: WithdrawAddon) -> tuple[OwnedObject, ...]:
        """The objects according to the Colony, for add-ons applied before records existed. Raises NotFound."""
        text = await spec.manifests(self._management, command)
        return tuple(map(owned_object, spec.documents(command, command.addon, text)))


def act(management: Kube, workloads: WorkloadClusters, ends: IsEnding) -> Act:
    """The addons service's side effects, by command."""
    calls, checks = AddonCalls(management, workloads), Rechecks(management, workloads, ends)
    return acts({ApplyAddon: calls.apply, CheckAddon: checks.check, WithdrawAddon: calls.withdraw})


def _awaits(command: ApplyAddon, later: TryLater, lacking: str) -> tuple[Event, ...]:
    """What people do not know yet. Raises the same error again if there is nothing new."""
    if isinstance(later, MissingPrerequisite):
        lacking = later.message
    if command.overdue:
        return (AddonPending(command.digest, later.message),)
    if lacking == command.told:
        raise later
    return (AddonPending(command.digest, lacking),)


async def _open(workloads: WorkloadClusters, command: ApplyAddon) -> Kube:
    try:
        return await workloads.open(command.tenant, command.kubeconfig)
    except (NotFound, NoKubeconfigYet) as missing:
        raise MissingPrerequisite(missing.message, RECHECK) from missing


async def _write(kube: Kube, document: Object, addon: str, brought: frozenset[str]) -> tuple[Resource, Object]:
    """Server-side apply of one object; a kind of a group that the add-on brings itself is on its way."""
    try:
        resource = await find(kube, document["apiVersion"], document["kind"])
    except NotFound as missing:
        wait = TryLater if document["apiVersion"].partition("/")[0] in brought else MissingPrerequisite
        raise wait(missing.message, RECHECK) from missing
    meta = document.setdefault("metadata", {})
    meta["labels"] = meta.get("labels", {}) | {LABEL: addon}
    if resource.namespaced:
        meta.setdefault("namespace", "default")
    return resource, await kube.apply(resource, document, manager=MANAGER)


def _check_all_gone(addon: str, reasons: list[str]) -> None:
    """Raises TryLater while any object is being deleted."""
    if going := reasons.count(""):
        raise TryLater(f"{going} objects of {addon} are going", RECHECK)


async def _wait(kube: Kube, written: list[tuple[Resource, Object]]) -> None:
    """Raises TryLater while any object is not healthy, Denied if one never will be."""
    for resource, was in written:
        meta = was["metadata"]
        seen = health(await kube.get(resource, meta["name"], meta.get("namespace")))
        if seen.failed:
            raise Denied(seen.message, "Failed")
        if not seen.well:
            raise TryLater(seen.message, RECHECK)
