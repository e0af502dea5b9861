"""Whether an add-on that was applied is still there is looked at again and again, for its cluster is open to others."""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from events.errors import Fault, NotFound, TryLater
from events.kube.client import Kube, Object
from schemas.addon import AddonLost, CheckAddon
from schemas.wish import digest
from services.addons import spec
from services.addons.health import health
from services.addons.owned_objects import belonging, look
from services.clients.workload_clusters import Workloads
from services.runtime.machine import Event

EVERY = 60.0
"""Seconds between two looks at one add-on, while there are few."""
AT_ONCE = 10.0
"""Looks a second at the most: of very many add-ons, each is looked at less often."""
UNWELL = 3
"""Looks, one after another, at which it has to be unhealthy: a node that comes or goes makes it so for a while."""
KEPT = 3
"""Looks that one may miss before nothing is known of it any more: it was taken off, or is applied again."""
Name = tuple[str, str, str]
"""Tenant, cluster, add-on."""
Ends = Callable[[str, str], bool]
"""Whether a tenant's cluster ends."""


class Looked(NamedTuple):
    """The last look at one add-on."""

    at: float
    """By the loop's clock."""
    unwell: int = 0
    """So often, one after another, it was unhealthy."""


class Checks:
    """The looks of one process."""

    def __init__(self, management: Kube, workloads: Workloads, ends: Ends) -> None:
        self._management = management
        self._workloads = workloads
        self._ends = ends
        self._looked: dict[Name, Looked] = {}
        self._tidied = 0.0

    async def check(self, command: CheckAddon) -> tuple[Event, ...]:
        """What is missing of it. Raises TryLater while nothing is: that is when it is looked at again.

        What cannot be seen is not missing, and of a cluster that ends nothing is missed.
        """
        name = (command.tenant, command.cluster, command.addon)
        before = self._looked.get(name)
        if before is None or self._ends(command.tenant, command.cluster):
            raise self._later(name, 0)  # it was applied just now, or this process begins: no storm of looks then
        try:
            gone, unwell = await self._look(command)
        except Fault as unseen:
            raise self._later(name, before.unwell) from unseen
        if gone or (unwell and before.unwell + 1 >= UNWELL):
            del self._looked[name]
            return (AddonLost(command.digest, gone or unwell),)
        raise self._later(name, before.unwell + 1 if unwell else 0)

    def _later(self, name: Name, unwell: int) -> TryLater:
        now, pause = asyncio.get_running_loop().time(), max(EVERY, len(self._looked) / AT_ONCE)
        self._looked[name] = Looked(now, unwell)
        if now - self._tidied > KEPT * pause:
            self._looked = {each: look for each, look in self._looked.items() if now - look.at <= KEPT * pause}
            self._tidied = now
        return TryLater("looked at again later", pause)

    async def _look(self, command: CheckAddon) -> tuple[str, str]:
        """What is gone, or else what is not healthy. Raises Fault where that cannot be seen."""
        text = await spec.manifests(self._management, command)
        if digest(text) != command.digest:
            return "", ""  # another one is asked for: that is applied
        kube = await self._workloads.open(command.tenant, command.kubeconfig)
        unwell = ""
        for document in spec.documents(command, command.addon, text):
            seen = await _seen(kube, document)
            if seen is None:
                return f"{belonging(document)} is not there any more", ""
            verdict = health(seen)
            unwell = unwell or ("" if verdict.well else verdict.message)
        return "", unwell


async def _seen(kube: Kube, document: Object) -> Object | None:
    """None if it is not there, or its kind is not. Raises TryLater, Denied."""
    try:
        return (await look(kube, belonging(document)))[1]
    except NotFound:
        return None
