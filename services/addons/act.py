"""Addons' calls on the world: writing an add-on's objects, waiting for them, taking them away."""

from events.errors import Denied, NotFound, TryLater
from events.kube.client import Kube, Object, Resource
from events.kube.discovery import find
from schemas.addon import AddonFailed, AddonHealthy, AddonPending, AddonRemoved, ApplyAddon, CheckAddon, WithdrawAddon
from schemas.wish import digest
from services.addons import spec as asked
from services.addons.health import health
from services.addons.owned_objects import LABEL, Belonging, belonging, groups
from services.addons.recheck import Checks, Ends
from services.addons.record import Note, forget, note, noted, notes
from services.addons.withdraw import Withdrawal
from services.clients.workload_clusters import Keyless, Workloads
from services.runtime.loop import Act, acts
from services.runtime.machine import Event

MANAGER = "alate-addons"
LOOK_AGAIN = 1.0
"""Seconds between two looks at what is coming up or going."""


class Lacks(TryLater):
    """What it cannot be written without is not there, and may never come by itself: people are told."""


class Calls:
    """What each command comes to; the ports are the Colonies and the founded clusters."""

    def __init__(self, management: Kube, workloads: Workloads) -> None:
        self._management = management
        self._workloads = workloads

    async def apply(self, command: ApplyAddon) -> tuple[Event, ...]:
        """Write the add-on's objects. Raises TryLater until they are healthy, but for what is to be told."""
        lacking = command.told
        try:
            kube, wanted = await self._wanted(command)
            has = tuple(map(belonging, wanted))
            had = await note(kube, command.addon, has)
            written = [await _write(kube, document, command.addon, groups(has)) for document in wanted]
            lacking = ""
            told = await self._prune(kube, command, had, has)
            await _wait(kube, written)
            _all_gone(command.addon, told)
        except (Denied, NotFound, asked.Unreadable) as refused:
            return (AddonFailed(command.digest, refused.message),)
        except TryLater as later:
            return _awaits(command, later, lacking)
        return (AddonHealthy(command.digest),)

    async def _wanted(self, command: ApplyAddon) -> tuple[Kube, list[Object]]:
        """The cluster, and what shall be there. Raises Lacks without a way to it."""
        text = await asked.manifests(self._management, command)
        if digest(text) != command.digest:
            raise TryLater(f"the Colony {command.tenant}/{command.colony} has changed since", LOOK_AGAIN)
        return await _reached(self._workloads, command), asked.documents(command, command.addon, text)

    async def _prune(self, kube: Kube, command: ApplyAddon, had: Note, has: tuple[Belonging, ...]) -> list[str]:
        """Ask for the end of what it had before and has no more; see `Withdrawal.left`."""
        stale = [one for one in had.has if one not in has]
        if not stale:
            return []
        stay = {**await asked.others(self._management, command), command.addon: has}
        return await Withdrawal(kube, command.addon, stays=True, asked=stay, notes=await notes(kube)).left(stale)

    async def withdraw(self, command: WithdrawAddon) -> tuple[Event, ...]:
        """Take the add-on's objects away, the last first. Raises TryLater as long as any is going."""
        try:
            kube = await self._workloads.open(command.tenant, command.kubeconfig)
            had = (await noted(kube, command.addon)).has or await self._written(command)
        except (NotFound, asked.Unreadable):  # no cluster, no Colony, or no such add-on in it: nothing to be taken away
            return (AddonRemoved(),)
        stay = await asked.others(self._management, command) if command.dropped else {}
        off = Withdrawal(kube, command.addon, command.stays, stay, await notes(kube))
        told = await off.left(had)
        _all_gone(command.addon, told)
        await forget(kube, command.addon)
        return (AddonRemoved("; ".join(told)),)

    async def _written(self, command: WithdrawAddon) -> tuple[Belonging, ...]:
        """What it is made of by the Colony: of those put on before notes were taken. Raises NotFound, Unreadable."""
        text = await asked.manifests(self._management, command)
        return tuple(map(belonging, asked.documents(command, command.addon, text)))


def act(management: Kube, workloads: Workloads, ends: Ends) -> Act:
    """The one place where addons meets the world."""
    calls, checks = Calls(management, workloads), Checks(management, workloads, ends)
    return acts({ApplyAddon: calls.apply, CheckAddon: checks.check, WithdrawAddon: calls.withdraw})


def _awaits(command: ApplyAddon, later: TryLater, lacking: str) -> tuple[Event, ...]:
    """What people are to know that they do not know yet. Raises the wait again where that is nothing."""
    if isinstance(later, Lacks):
        lacking = later.message
    if command.overdue:
        return (AddonPending(command.digest, later.message),)
    if lacking == command.told:
        raise later
    return (AddonPending(command.digest, lacking),)


async def _reached(workloads: Workloads, command: ApplyAddon) -> Kube:
    try:
        return await workloads.open(command.tenant, command.kubeconfig)
    except (NotFound, Keyless) as missing:
        raise Lacks(missing.message, LOOK_AGAIN) from missing


async def _write(kube: Kube, document: Object, addon: str, brought: frozenset[str]) -> tuple[Resource, Object]:
    """Server-side apply of one object; a kind of a group that the add-on brings itself is on its way."""
    try:
        resource = await find(kube, document["apiVersion"], document["kind"])
    except NotFound as missing:
        wait = TryLater if document["apiVersion"].partition("/")[0] in brought else Lacks
        raise wait(missing.message, LOOK_AGAIN) from missing
    meta = document.setdefault("metadata", {})
    meta["labels"] = meta.get("labels", {}) | {LABEL: addon}
    if resource.namespaced:
        meta.setdefault("namespace", "default")
    return resource, await kube.apply(resource, document, manager=MANAGER)


def _all_gone(addon: str, told: list[str]) -> None:
    """Raises TryLater while any object is going."""
    if going := told.count(""):
        raise TryLater(f"{going} objects of {addon} are going", LOOK_AGAIN)


async def _wait(kube: Kube, written: list[tuple[Resource, Object]]) -> None:
    """Raises TryLater while any object is not healthy, Denied if one never will be."""
    for resource, was in written:
        meta = was["metadata"]
        verdict = health(await kube.get(resource, meta["name"], meta.get("namespace")))
        if verdict.failed:
            raise Denied(verdict.message, "Failed")
        if not verdict.well:
            raise TryLater(verdict.message, LOOK_AGAIN)
