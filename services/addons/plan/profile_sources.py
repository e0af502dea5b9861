"""Finds out what the sources of profiles with a rollout hold, so that a change of them is rolled out in stages too."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from events.errors import Denied, Fault
from events.kube.client import Kube
from services.addons.descriptions import Description
from services.addons.plan.profile import ProfileRules
from services.addons.plan.profile_store import KnownProfile, ProfileName, ProfileStore
from services.addons.reference_watches import ReferenceWatches
from services.addons.references import references
from services.runtime.context import Context
from services.runtime.workqueue import WorkQueue

AGAIN = 10.0
"""Seconds until sources that could not be read are read again; a change of what is watched is noticed at once."""
EVERY = 300.0
"""Seconds between two looks at sources that tell of no change: branches, tags and ranges of versions."""

log = structlog.get_logger()

SourceDigest = Callable[[Description], Awaitable[str]]
"""Of what an add-on's sources hold now; empty if it cannot change. Raises Fault."""


class ProfileSources:
    """What the sources of all profiles with a rollout hold, while `run` runs; the store is told."""

    def __init__(self, profiles: ProfileStore, rules: ProfileRules, management: Kube, context: Context) -> None:
        self._profiles = profiles
        self._rules = rules
        self._watches = ReferenceWatches(management)
        self._watches.listen(lambda namespace, _, name: self.on_change(ProfileName(namespace, name)))
        self._queue: WorkQueue[ProfileName] = WorkQueue(self._reconcile, "sources", context.jitter)
        self._digest: SourceDigest | None = None

    def reach(self, digest: SourceDigest) -> None:
        """From now on, ask this one."""
        self._digest = digest

    def on_change(self, name: ProfileName) -> None:
        """A profile, or something that it refers to, has changed."""
        self._queue.add(name)

    async def run(self) -> None:
        """Follow until cancelled."""
        try:
            async with self._queue.running():
                await asyncio.Event().wait()
        finally:
            await self._watches.close()

    async def _reconcile(self, name: ProfileName) -> None:
        known = self._profiles.get(name)
        if known is None or known.profile.spec.rollout is None:
            self._watches.drop((name.namespace, "", name.name))
            return
        try:
            found = await self._held(name, known)
        except Fault as why:
            log.warning("profile.sources_unread", tenant=name.namespace, name=name.name, reason=why.message)
            self._profiles.unread(name, known.profile.generation, why.message)
            self._queue.add_after(name, AGAIN)
            return
        self._profiles.resolve(name, known.profile.generation, found)
        if found:
            self._queue.add_after(name, EVERY)

    async def _held(self, name: ProfileName, known: KnownProfile) -> dict[str, str]:
        """By add-on. Raises Fault."""
        expand, wide = self._rules.expand, not name.namespace
        every = [
            Description(expand(each), each.digest, name.home, cluster_wide=wide) for each in known.profile.spec.addons
        ]
        refers_to = frozenset(one for each in every for one in references(each))
        self._watches.follow((name.namespace, "", name.name), refers_to)
        found = {each.spec.name: await self._of(each) for each in every}
        return {addon: digest for addon, digest in found.items() if digest}

    async def _of(self, description: Description) -> str:
        """Empty as well for what is refused: the first cluster that gets it says why."""
        try:
            return await self._digest(description) if self._digest else ""
        except Denied:
            return ""
