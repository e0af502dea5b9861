"""Checks applied add-ons repeatedly, as others may change their cluster."""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from events.errors import Fault, NotFound, TryLater
from events.kube.client import Kube, Object
from schemas.addon import AddonLost, CheckAddon
from schemas.wish import digest
from services.addons import spec
from services.addons.objects.health import health
from services.addons.owned_objects import owned_object, read_object
from services.clients.workload_clusters import WorkloadClusters
from services.runtime.machine import Event

EVERY = 60.0
"""Seconds between two checks of one add-on while there are few."""
CHECKS_PER_SECOND = 10.0
"""The limit for all add-ons together: with many, each is checked less often."""
UNHEALTHY_CHECKS = 3
"""Consecutive checks that must find it unhealthy: a node that joins or leaves makes it so for a while."""
KEPT_PERIODS = 3
"""Checks that an add-on may miss before its last result is forgotten."""
AddonKey = tuple[str, str, str]
"""Tenant, cluster, add-on."""
IsEnding = Callable[[str, str], bool]
"""Whether a tenant's cluster is ending."""


class LastCheck(NamedTuple):
    """The last check of one add-on."""

    at: float
    """On the loop's clock."""
    unwell: int = 0
    """The number of consecutive checks that found it unhealthy."""


class Rechecks:
    """The checks of one process."""

    def __init__(self, management: Kube, workloads: WorkloadClusters, ends: IsEnding) -> None:
        self._management = management
        self._workloads = workloads
        self._ends = ends
        self._looked: dict[AddonKey, LastCheck] = {}
        self._tidied = 0.0

    async def check(self, command: CheckAddon) -> tuple[Event, ...]:
        """What is missing of an add-on. Raises TryLater while nothing is, until the next check.

        What cannot be read is not missing, and nothing is missed of a cluster that is ending.
        """
        name = (command.tenant, command.cluster, command.addon)
        before = self._looked.get(name)
        if before is None or self._ends(command.tenant, command.cluster):
            raise self._later(name, 0)  # it was applied just now, or this process begins: no storm of looks then
        try:
            gone, unwell = await self._look(command)
        except Fault as unseen:
            raise self._later(name, before.unwell) from unseen
        if gone or (unwell and before.unwell + 1 >= UNHEALTHY_CHECKS):
            del self._looked[name]
            return (AddonLost(command.digest, gone or unwell),)
        raise self._later(name, before.unwell + 1 if unwell else 0)

    def _later(self, name: AddonKey, unwell: int) -> TryLater:
        now, pause = asyncio.get_running_loop().time(), max(EVERY, len(self._looked) / CHECKS_PER_SECOND)
        self._looked[name] = LastCheck(now, unwell)
        if now - self._tidied > KEPT_PERIODS * pause:
            self._looked = {each: look for each, look in self._looked.items() if now - look.at <= KEPT_PERIODS * pause}
            self._tidied = now
        return TryLater("looked at again later", pause)

    async def _look(self, command: CheckAddon) -> tuple[str, str]:
        """What is gone, or else what is not healthy. Raises Fault if that cannot be read."""
        text = await spec.manifests(self._management, command)
        if digest(text) != command.digest:
            return "", ""  # another one is asked for: that is applied
        kube = await self._workloads.open(command.tenant, command.kubeconfig)
        unwell = ""
        for document in spec.documents(command, command.addon, text):
            seen = await _seen(kube, document)
            if seen is None:
                return f"{owned_object(document)} is not there any more", ""
            checked = health(seen)
            unwell = unwell or ("" if checked.well else checked.message)
        return "", unwell


async def _seen(kube: Kube, document: Object) -> Object | None:
    """None if the object or its kind does not exist. Raises TryLater, Denied."""
    try:
        return (await read_object(kube, owned_object(document)))[1]
    except NotFound:
        return None
