"""Checks applied add-ons when something of theirs has changed, and from time to time."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from events.errors import Denied, Fault, TryLater
from schemas.addon import AddonDiffers, AddonLost, CheckAddon, RetryAddon
from schemas.crds.addons import Mode
from services.addons.objects.compare import Compared
from services.runtime.machine import Command, Event

EVERY = 60.0
"""Seconds between two checks of one add-on while there are few."""
CHECKS_PER_SECOND = 10.0
"""The limit for all add-ons together: with many, each is checked less often."""
UNHEALTHY_CHECKS = 3
"""Consecutive checks that must find it unhealthy: a node that joins or leaves makes it so for a while."""
EARLY = 0.2
"""The part of the time between two checks by which one may come early: retries are spread that far."""
KEPT_PERIODS = 3
"""Checks that an add-on may miss before its last result is forgotten."""
CORRECTIONS, WITHIN = 5, 600.0
"""So many corrections within so many seconds are a fight: from then on it is reported, not corrected."""
THOROUGH_EVERY = 10
"""Of so many checks one is thorough although nothing is known to have changed, as a watch may be refused."""
REFERRED_CHANGED = "what its description refers to has changed"
AddonKey = tuple[str, str, str]
"""Tenant, cluster, add-on."""
IsEnding = Callable[[str, str], bool]
"""Whether a tenant's cluster is ending."""


@dataclass
class CheckHistory:
    """The checks of one add-on."""

    at: float
    """When it was checked last, on the loop's clock."""
    unwell: int = 0
    """The number of consecutive checks that found it unhealthy."""
    changed: bool = False
    """Something of it has changed since."""
    referred: bool = False
    """Something that its description refers to has changed since."""
    checks: int = 0
    """How often it was checked."""
    corrections: deque[float] = field(default_factory=lambda: deque(maxlen=CORRECTIONS))
    """When it was corrected, on the loop's clock."""

    def fights(self, now: float) -> bool:
        """Whether it was corrected so often that somebody else wants it otherwise."""
        return len(self.corrections) == CORRECTIONS and now - self.corrections[0] <= WITHIN


@dataclass(frozen=True)
class Look:
    """What one check has found."""

    mode: Mode
    compared: Compared
    outdated: bool = False
    """Its description comes to something else by now."""

    @property
    def difference(self) -> str:
        """The first thing that is not as described; empty if all is."""
        found = self.compared
        for one in found.missing:
            return f"{one} is not there any more"
        for each in (*found.drifted, *found.refused):
            return str(each)
        for one in found.surplus:
            return f"{one} is not part of it any more"
        return ""

    @property
    def unwell(self) -> str:
        """The first thing that is not healthy; empty if all is."""
        return next((each.message for each in self.compared.unhealthy), "")


class LookAtAddon(Protocol):
    """Compares an add-on with its cluster."""

    async def __call__(self, command: CheckAddon, *, thorough: bool) -> Look | None:
        """None if there is nothing to compare. `thorough`: something has changed. Raises Fault."""
        ...


FollowAddon = Callable[[CheckAddon], Awaitable[None]]
"""Begins to watch what an add-on has. Raises Fault."""


class Rechecks:
    """The checks of one process."""

    def __init__(self, look: LookAtAddon, follow: FollowAddon, ends: IsEnding) -> None:
        self._look = look
        self._follow = follow
        self._ends = ends
        self._checked: dict[AddonKey, CheckHistory] = {}
        self._tidied = 0.0
        self.commands: Mapping[type[Command], Callable[[Any], Awaitable[tuple[Event, ...]]]] = {
            CheckAddon: self.check,
            RetryAddon: self.retry,
        }
        """What carries out each of them."""

    def changed(self, tenant: str, cluster: str, addon: str) -> None:
        """Something of the add-on has changed on its cluster: the next check is not put off."""
        self._history(tenant, cluster, addon).changed = True

    def referred_changed(self, tenant: str, cluster: str, addon: str) -> None:
        """Something that its description refers to has changed: it may come to something else now."""
        self._history(tenant, cluster, addon).referred = True

    def _history(self, *name: str) -> CheckHistory:
        tenant, cluster, addon = name
        return self._checked.setdefault((tenant, cluster, addon), CheckHistory(asyncio.get_running_loop().time()))

    async def retry(self, command: RetryAddon) -> tuple[Event, ...]:
        """Give a degraded add-on another try, if something that its description refers to has changed."""
        known = self._checked.get((command.tenant, command.cluster, command.addon))
        if known is None or not known.referred:
            return ()
        known.referred = False
        return (AddonLost(command.digest, REFERRED_CHANGED),)

    async def check(self, command: CheckAddon) -> tuple[Event, ...]:
        """What is wrong with an add-on. Raises TryLater while nothing is, until the next check.

        What cannot be read is not missing, and nothing is missed of a cluster that is ending.
        """
        name = (command.tenant, command.cluster, command.addon)
        known = self._checked.get(name)
        if known is None:  # it was applied just now, or this process begins: no storm of looks then
            with suppress(Fault):  # then it is only looked at from time to time
                await self._follow(command)
        if known is None or self._ends(command.tenant, command.cluster):
            raise self._later(name, 0)
        wait = known.at + self._pause - asyncio.get_running_loop().time()
        if not (known.changed or known.referred) and wait > EARLY * self._pause:
            raise TryLater("looked at again later", wait)
        try:
            known.checks += 1
            seldom = known.checks % THOROUGH_EVERY == 0
            look = await self._look(command, thorough=known.changed or bool(command.told) or seldom)
        except Fault as unseen:
            if known.referred and isinstance(unseen, Denied):  # it cannot be rendered: an apply says why
                known.referred = False
                return (AddonLost(command.digest, REFERRED_CHANGED),)
            raise self._later(name, known.unwell) from unseen
        if look is None:
            raise self._later(name, 0)
        if events := self._found(command, look, known):
            return events
        raise self._later(name, known.unwell + 1 if look.unwell else 0)

    def _found(self, command: CheckAddon, look: Look, known: CheckHistory) -> tuple[Event, ...]:
        """What is to be said of it; nothing if it is as it was."""
        known.changed = known.referred = False
        now = asyncio.get_running_loop().time()
        sick = look.unwell if known.unwell + 1 >= UNHEALTHY_CHECKS else ""
        wrong = look.difference or sick
        if look.outdated and look.mode is not Mode.ONCE:
            return (AddonLost(command.digest, "what its description comes to has changed"),)
        if look.compared.reranked and look.mode is not Mode.ONCE:
            return (AddonLost(command.digest, "its priority has changed"),)
        corrects = look.mode is Mode.CORRECT and not known.fights(now)
        if wrong and corrects:
            if look.difference:
                known.corrections.append(now)
            known.unwell = 0
            return (AddonLost(command.digest, wrong),)
        fight = "it is changed again and again, and not corrected any more: " if known.fights(now) else ""
        told = f"{fight}{wrong}" if wrong else ""
        return (AddonDiffers(command.digest, told),) if told != command.told else ()

    @property
    def _pause(self) -> float:
        """Seconds between two checks of one add-on of which nothing is known to have changed."""
        return max(EVERY, len(self._checked) / CHECKS_PER_SECOND)

    def _later(self, name: AddonKey, unwell: int) -> TryLater:
        now, pause = asyncio.get_running_loop().time(), self._pause
        history = self._checked.setdefault(name, CheckHistory(now))
        history.at, history.unwell = now, unwell
        if now - self._tidied > KEPT_PERIODS * pause:
            self._checked = {
                each: kept
                for each, kept in self._checked.items()
                if now - kept.at <= KEPT_PERIODS * pause or (kept.corrections and now - kept.corrections[-1] <= WITHIN)
            }
            self._tidied = now
        return TryLater("looked at again later", pause)
