"""The addons service's calls: write an add-on's objects, wait for them, delete them."""

from collections.abc import Sequence
from functools import partial

from events.errors import Denied, NotFound, TryLater
from events.kube.client import Kube, Object
from schemas.addon import AddonFailed, AddonHealthy, AddonPending, AddonRemoved, ApplyAddon, CheckAddon, WithdrawAddon
from schemas.wish import digest
from services.addons import spec
from services.addons.objects.apply import ApplyResult, apply
from services.addons.objects.faults import AGAIN, MissingPrerequisite
from services.addons.objects.target import Target
from services.addons.owned_objects import OwnedObject, owned_object
from services.addons.recheck import IsEnding, Rechecks
from services.addons.record import delete_record, read_record, read_records
from services.addons.withdraw import Withdrawal
from services.clients.workload_clusters import NoKubeconfigYet, WorkloadClusters
from services.runtime.loop import Act, acts
from services.runtime.machine import Event


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
            target = Target(kube, kube, command.addon)
            applied = await apply(target, wanted, partial(spec.other_addons, self._management, command))
            lacking = ""
            _check_healthy(applied)
            _check_all_gone(command.addon, applied.reasons)
        except (Denied, NotFound, spec.UnreadableManifests) as refused:
            return (AddonFailed(command.digest, refused.message),)
        except TryLater as later:
            return _awaits(command, later, lacking)
        return (AddonHealthy(command.digest),)

    async def _wanted(self, command: ApplyAddon) -> tuple[Kube, list[Object]]:
        """The cluster and the objects to write. Raises MissingPrerequisite if the cluster cannot be opened."""
        text = await spec.manifests(self._management, command)
        if digest(text) != command.digest:
            raise TryLater(f"the Colony {command.tenant}/{command.colony} has changed since", AGAIN)
        return await _open(self._workloads, command), spec.documents(command, command.addon, text)

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
        raise MissingPrerequisite(missing.message, AGAIN) from missing


def _check_all_gone(addon: str, reasons: Sequence[str]) -> None:
    """Raises TryLater while any object is being deleted."""
    if going := reasons.count(""):
        raise TryLater(f"{going} objects of {addon} are going", AGAIN)


def _check_healthy(applied: ApplyResult) -> None:
    """Raises TryLater while any object is not healthy, Denied if one never will be."""
    unhealthy = applied.unhealthy
    for each in unhealthy:
        if each.failed:
            raise Denied(each.message, "Failed")
    for each in unhealthy:
        raise TryLater(each.message, AGAIN)
