"""Watches one cluster from the moment its API answers until its release."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing
from itertools import chain

import structlog

from events.backoff import Backoff
from events.errors import Denied, Fault, NotFound
from events.kube.client import Kube, Listed, Lost, Resource, Sight
from events.kube.discovery import find
from schemas.inventory import UNREADABLE, ClusterSeen, Level, NodeSeen, StorageSeen, Trouble
from services.inventory.read.labels import LabelPolicy, no_labels
from services.inventory.read.object_types import BESIDE, CORE, DEVICES, STORAGE
from services.inventory.read.totals import unreadable_objects
from services.inventory.watch.cluster_state import ClusterContents
from services.inventory.watch.kinds import AT_START, LATER, IdleKinds, Outages, Serialized
from services.inventory.watch.outputs import ClusterPublisher, GaugeUpdates, Labeller
from services.runtime.context import Context

FIRST, LONGEST = 1.0, 15.0
"""Seconds between two tries to open a cluster whose kubeconfig is not there yet, or that cannot be heard; doubled."""
LOOK_AGAIN = 300.0
"""Seconds until a kind that was not served is looked for again."""
NOBODY = "-"
"""The tenant of what is no tenant's."""
VIOLATIONS = "alate.inventory.violations"
"""Counter of the numbers that could not be, and of what could not be read, by reason."""

OpenCluster = Callable[[], Awaitable[Kube]]
"""Gives the cluster's API: the same object again as long as its kubeconfig is the same."""

log = structlog.get_logger()


class Watcher:
    """Says what one incarnation of a cluster has and uses, each time it differs."""

    def __init__(
        self,
        context: Context,
        blank: ClusterSeen,
        publisher: ClusterPublisher,
        *,
        labels: LabelPolicy = no_labels,
        settled: asyncio.Event | None = None,
    ) -> None:
        """`blank` names the cluster's incarnation; its nodes shall bear `labels`."""
        self.settled = settled or asyncio.Event()
        """Set once it was seen whole, or could not be."""
        self._key = publisher.key
        self._contents = ClusterContents(blank)
        self._publisher = publisher
        self._clock = context.clock
        self._meters = context.meters
        self._tries = Backoff(context.jitter, FIRST, LONGEST)
        self._stale = False
        self._published_whole = False
        """It was seen whole, and told so."""
        self._published = asyncio.Event()
        """Something was said of it, in this life or an earlier one."""
        if publisher.last(ClusterSeen) is not None:
            self._published.set()
        self._news = asyncio.Event()
        self._listed: set[Resource] = set()
        """Listed, or known not to be served."""
        self._outages = Outages(self._outage_lasts)
        self._stored: tuple[dict[str, StorageSeen], bool, bool] | None = None
        """What was told of storage last: the levels, whether they were stale, whether a source was unheard."""
        self._measures = GaugeUpdates(self._contents, publisher, context.meters)
        self._labels = labels
        self._labeller = Labeller(publisher.key, self._news.set)
        self._idle_kinds = IdleKinds(context.jitter)
        self._serialized = Serialized()

    async def run(self, open_: OpenCluster) -> None:
        """Watch until cancelled; with a new client whenever the kubeconfig is another."""
        try:
            await self._run(open_)
        finally:
            self._outages.close()
            self._measures.close()

    async def _run(self, open_: OpenCluster) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._publish_news())
            kube = await self._opened(open_)
            while True:
                following = [group.create_task(self._follow(kube, resource)) for resource in CORE]
                following += [group.create_task(self._follow_optional(kube, resource)) for resource in DEVICES]
                following += [group.create_task(self._follow_optional_later(kube, resource)) for resource in STORAGE]
                following.append(group.create_task(self._labeller.run(kube)))
                kube = await self._renewed(kube, open_)
                for task in following:
                    task.cancel()
                await asyncio.wait(following)

    async def _opened(self, open_: OpenCluster) -> Kube:
        self._tries.failures = 0
        while True:
            try:
                return await open_()
            except Fault as not_yet:
                log.info("cluster.connect_failed", entity=self._key.path, reason=not_yet.message)
                self._mark_lost(CORE[0], not_yet.message, refused=isinstance(not_yet, Denied))
                await asyncio.sleep(self._tries.next_delay())

    async def _renewed(self, kube: Kube, open_: OpenCluster) -> Kube:
        """The next client: while nothing is heard, the kubeconfig is looked at again, as it may have been rotated."""
        self._tries.failures = 0
        while True:
            await self._outages.begun()
            await asyncio.sleep(self._tries.next_delay())
            if not self._outages:
                self._tries.failures = 0
            else:
                try:
                    found = await open_()
                except Fault as fault:
                    log.debug("cluster.connect_failed", entity=self._key.path, reason=fault.message)
                else:
                    if found is not kube:
                        return found

    async def _follow_optional(self, kube: Kube, resource: Resource) -> None:
        """Follow a kind that may not be served, or of which there may be nothing: each is asked again, later."""
        patience = (idle := self._idle_kinds.of(resource)).patience()
        while True:
            stirs = idle.stirs
            if await self._follow_while_served(kube, resource):
                await idle.over(stirs, patience)
            else:
                await asyncio.sleep(LOOK_AGAIN)

    async def _follow_while_served(self, kube: Kube, resource: Resource) -> bool:
        """For ever, unless it is not served (False), or there is nothing to be followed (True)."""
        async with aclosing(kube.watch(resource)) as sights:
            async for sight in self._serialized.taken(sights):
                if isinstance(sight, Lost) and not await self._served(kube, resource):
                    return False
                self._observe(resource, sight)
                if isinstance(sight, Listed) and not sight.items and not self._contents.expects(resource):
                    return True
        return True

    async def _follow_optional_later(self, kube: Kube, resource: Resource) -> None:
        """The same, once its cluster was told of: seven questions at once would keep a new one waiting."""
        await self._published.wait()
        await self._follow_optional(kube, resource)

    async def _served(self, kube: Kube, resource: Resource) -> bool:
        """Whether a kind that could not be watched is there; unless it is known not to be, it is."""
        try:
            await find(kube, resource.api_version, resource.kind)
        except NotFound:
            self._mark_reachable(resource)
            return False
        except Fault as fault:
            log.debug("cluster.undiscovered", entity=self._key.path, kind=resource.kind, reason=fault.message)
        return True

    async def _follow(self, kube: Kube, resource: Resource) -> None:
        async for sight in kube.watch(resource):
            self._observe(resource, sight)

    def _observe(self, resource: Resource, sight: Sight) -> None:
        if isinstance(sight, Lost):
            self._mark_lost(resource, sight.reason, refused=sight.refused)
            return
        news = self._contents.take(resource, sight)
        if news and (resource in self._listed or resource not in CORE):  # what is there at the start is no change
            self._idle_kinds.stir(resource)
        if news or resource in self._outages or resource not in self._listed:
            self._mark_reachable(resource)

    def _mark_lost(self, resource: Resource, reason: str, *, refused: bool) -> None:
        if resource not in self._outages:
            log.info("cluster.watch_lost", entity=self._key.path, kind=resource.kind, reason=reason)
        self._outages.begin(resource, reason, LATER if self._published_whole else AT_START, refused=refused)
        self.settled.set()

    def _outage_lasts(self, resource: Resource, reason: str) -> None:
        log.warning("cluster.unreachable", entity=self._key.path, kind=resource.kind, reason=reason)
        self._news.set()

    def _mark_reachable(self, resource: Resource) -> None:
        self._outages.end(resource)
        self._listed.add(resource)
        self._news.set()

    async def _publish_news(self) -> None:
        """No word before everything was listed once: a restart of ours is no news. Unless that cannot be."""
        while True:
            await self._news.wait()
            self._news.clear()
            unheard = self._outages.lasting
            stale = any(resource in unheard for resource in CORE)
            needed = BESIDE if self._published.is_set() else DEVICES
            if self._contents.complete and self._listed.union(unheard).issuperset(needed):
                await self._publish(stale=stale)
                self._published_whole = True
                self._published.set()
                self.settled.set()
            elif stale:
                await self._publish_stale()

    async def _publish(self, *, stale: bool) -> None:
        """Nodes first: whoever hears the cluster's level can find them."""
        changed = self._contents.changed()
        for name, node in changed.items():
            uid, borne = self._contents.own_labels(name)
            self._labeller.want(name, uid, self._labels(node), borne)
        if not self._contents.nodes and self._publisher.last(ClusterSeen) is None and self._key.tenant == NOBODY:
            return  # a management cluster whose nodes are hosted elsewhere has nothing to tell of
        if stale != self._stale:
            changed, self._stale = dict(self._contents.nodes), stale
        await self._publisher.say_all(
            (name, self._fresh(node)) for name, node in changed.items() if self._differs(name, node)
        )
        if self._contents.left():
            await self._publisher.say_all(list(self._gone(NodeSeen, self._contents.nodes)))
        last = self._publisher.last(ClusterSeen)
        whole = self._contents.cluster(last, self._clock())
        whole = whole.but(degraded=(*whole.degraded, *self._troubles()))
        self._warn((trouble for trouble in whole.degraded if trouble.reason == UNREADABLE), last, "")
        if await self._publisher.say(self._fresh(whole)):
            self._measures.soon()
        await self._publish_storage()

    async def _publish_storage(self) -> None:
        now = (self._contents.storage(), self._stale, any(resource in self._outages.lasting for resource in BESIDE))
        if now == self._stored:
            return
        self._stored = now
        storage, _, unheard = now
        await self._publisher.say_all((name, self._fresh(one)) for name, one in storage.items())
        if storage or not unheard:
            await self._publisher.say_all(list(self._gone(StorageSeen, storage)))

    def _differs(self, name: str, node: NodeSeen) -> bool:
        """Tell of each number that could not be, once; gives True, as the voice knows best what was said."""
        self._warn((trouble for trouble in node.degraded if trouble.raw), self._publisher.last(NodeSeen, name), name)
        return True

    def _warn(self, troubles: Iterable[Trouble], last: Level | None, node: str) -> None:
        before = last.degraded if last is not None else ()
        for trouble in troubles:
            if trouble not in before:
                self._meters.count(VIOLATIONS, trouble.reason)
                log.warning(
                    "inventory.violation", entity=self._key.path, node=node or None, reason=trouble.reason,
                    message=trouble.message, raw=trouble.raw,
                )  # fmt: skip

    async def _publish_stale(self) -> None:
        """Nothing was seen whole yet: what was said in an earlier life is all there is, or that it refuses us."""
        said: Iterable[tuple[str, Level]] = chain(
            self._publisher.said(NodeSeen), self._publisher.said(StorageSeen), self._publisher.said(ClusterSeen)
        )
        self._stale = True
        await self._publisher.say_all([(name, self._fresh(level)) for name, level in said])
        if self._outages.refusals and self._publisher.last(ClusterSeen) is None:
            await self._publisher.say(self._fresh(self._contents.refused(self._outages.refusals[0])))

    def _fresh(self, level: Level) -> Level:
        if not self._stale:
            return level
        if isinstance(level, ClusterSeen):
            level = level.but(known=False)
        return level.but(freshness="stale")

    def _gone(self, kind: type[NodeSeen | StorageSeen], there: Iterable[str]) -> Iterable[tuple[str, Level]]:
        """What was said and is not in a complete list."""
        names = frozenset(there)
        for name, level in self._publisher.said(kind):
            if name not in names:
                gone = level.but(present=False, freshness="gone", degraded=())
                yield name, gone.but(ready=False) if isinstance(gone, NodeSeen) else gone

    def _troubles(self) -> Iterable[Trouble]:
        yield from unreadable_objects(self._contents.unread())
        if self._labeller.trouble is not None:
            yield self._labeller.trouble
        for resource, reason in sorted(self._outages.lasting.items(), key=lambda each: each[0].plural):
            if resource not in CORE:
                yield Trouble(reason="SourceUnheard", message=f"{resource.plural} cannot be watched: {reason}")
