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
"""Seconds between two attempts to connect to a cluster that has no kubeconfig yet or is unreachable; doubled."""
LOOK_AGAIN = 300.0
"""Seconds until the API server is asked again for a kind that it did not serve."""
NOBODY = "-"
"""Stands for the tenant in the key of the management cluster, which has none."""
VIOLATIONS = "alate.inventory.violations"
"""Counter of impossible numbers and unreadable objects, by reason."""

OpenCluster = Callable[[], Awaitable[Kube]]
"""Returns a client of the cluster's API: the same one as long as its kubeconfig is the same."""

log = structlog.get_logger()


class Watcher:
    """Publishes what one incarnation of a cluster has and uses, each time it differs."""

    def __init__(
        self,
        context: Context,
        blank: ClusterSeen,
        publisher: ClusterPublisher,
        *,
        labels: LabelPolicy = no_labels,
        settled: asyncio.Event | None = None,
    ) -> None:
        """`blank` names the cluster's incarnation; `labels` are the labels that its nodes shall have."""
        self.settled = settled or asyncio.Event()
        """Set once everything was listed, or could not be."""
        self._key = publisher.key
        self._contents = ClusterContents(blank)
        self._publisher = publisher
        self._clock = context.clock
        self._meters = context.meters
        self._backoff = Backoff(context.jitter, FIRST, LONGEST)
        self._stale = False
        self._published_whole = False
        """The cluster was published after everything was listed."""
        self._published = asyncio.Event()
        """Set once a level of the cluster exists, from this process or an earlier one."""
        if publisher.last(ClusterSeen) is not None:
            self._published.set()
        self._news = asyncio.Event()
        self._listed: set[Resource] = set()
        """Listed, or known not to be served."""
        self._outages = Outages(self._report_outage)
        self._published_storage: tuple[dict[str, StorageSeen], bool, bool] | None = None
        """What was published of storage last: the levels, whether they were stale, whether a watch was broken."""
        self._gauges = GaugeUpdates(self._contents, publisher, context.meters)
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
            self._gauges.close()

    async def _run(self, open_: OpenCluster) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._publish_changes())
            kube = await self._connect(open_)
            while True:
                watches = [group.create_task(self._watch(kube, resource)) for resource in CORE]
                watches += [group.create_task(self._watch_optional(kube, resource)) for resource in DEVICES]
                watches += [group.create_task(self._watch_optional_later(kube, resource)) for resource in STORAGE]
                watches.append(group.create_task(self._labeller.run(kube)))
                kube = await self._reconnect(kube, open_)
                for task in watches:
                    task.cancel()
                await asyncio.wait(watches)

    async def _connect(self, open_: OpenCluster) -> Kube:
        self._backoff.failures = 0
        while True:
            try:
                return await open_()
            except Fault as not_yet:
                log.info("cluster.connect_failed", entity=self._key.path, reason=not_yet.message)
                self._mark_lost(CORE[0], not_yet.message, refused=isinstance(not_yet, Denied))
                await asyncio.sleep(self._backoff.next_delay())

    async def _reconnect(self, kube: Kube, open_: OpenCluster) -> Kube:
        """Return a new client: while a watch is broken the kubeconfig is read again, as it may have been rotated."""
        self._backoff.failures = 0
        while True:
            await self._outages.begun()
            await asyncio.sleep(self._backoff.next_delay())
            if not self._outages:
                self._backoff.failures = 0
            else:
                try:
                    found = await open_()
                except Fault as fault:
                    log.debug("cluster.connect_failed", entity=self._key.path, reason=fault.message)
                else:
                    if found is not kube:
                        return found

    async def _watch_optional(self, kube: Kube, resource: Resource) -> None:
        """Watch a kind that may not be served, or that may have no objects: then it is listed again later."""
        backoff = (idle := self._idle_kinds.of(resource)).new_backoff()
        while True:
            changes = idle.changes
            if await self._watch_while_served(kube, resource):
                await idle.wait_for_change(changes, backoff)
            else:
                await asyncio.sleep(LOOK_AGAIN)

    async def _watch_while_served(self, kube: Kube, resource: Resource) -> bool:
        """Watch for ever, or until the kind is not served (False), or has no objects (True)."""
        async with aclosing(kube.watch(resource)) as sights:
            async for sight in self._serialized.one_by_one(sights):
                if isinstance(sight, Lost) and not await self._is_served(kube, resource):
                    return False
                self._observe(resource, sight)
                if isinstance(sight, Listed) and not sight.items and not self._contents.expects(resource):
                    return True
        return True

    async def _watch_optional_later(self, kube: Kube, resource: Resource) -> None:
        """Watch an optional kind once the cluster was published: seven lists at once would delay a new cluster."""
        await self._published.wait()
        await self._watch_optional(kube, resource)

    async def _is_served(self, kube: Kube, resource: Resource) -> bool:
        """Whether the API server serves a kind that could not be watched; true also if that cannot be found out."""
        try:
            await find(kube, resource.api_version, resource.kind)
        except NotFound:
            self._mark_reachable(resource)
            return False
        except Fault as fault:
            log.debug("cluster.undiscovered", entity=self._key.path, kind=resource.kind, reason=fault.message)
        return True

    async def _watch(self, kube: Kube, resource: Resource) -> None:
        async for sight in kube.watch(resource):
            self._observe(resource, sight)

    def _observe(self, resource: Resource, sight: Sight) -> None:
        if isinstance(sight, Lost):
            self._mark_lost(resource, sight.reason, refused=sight.refused)
            return
        news = self._contents.take(resource, sight)
        if news and (resource in self._listed or resource not in CORE):  # what is there at the start is no change
            self._idle_kinds.record_change(resource)
        if news or resource in self._outages or resource not in self._listed:
            self._mark_reachable(resource)

    def _mark_lost(self, resource: Resource, reason: str, *, refused: bool) -> None:
        if resource not in self._outages:
            log.info("cluster.watch_lost", entity=self._key.path, kind=resource.kind, reason=reason)
        self._outages.begin(resource, reason, LATER if self._published_whole else AT_START, refused=refused)
        self.settled.set()

    def _report_outage(self, resource: Resource, reason: str) -> None:
        log.warning("cluster.unreachable", entity=self._key.path, kind=resource.kind, reason=reason)
        self._news.set()

    def _mark_reachable(self, resource: Resource) -> None:
        self._outages.end(resource)
        self._listed.add(resource)
        self._news.set()

    async def _publish_changes(self) -> None:
        """Publish after each change, once everything was listed or cannot be: a restart of ours is no change."""
        while True:
            await self._news.wait()
            self._news.clear()
            broken = self._outages.lasting
            stale = any(resource in broken for resource in CORE)
            needed = BESIDE if self._published.is_set() else DEVICES
            if self._contents.complete and self._listed.union(broken).issuperset(needed):
                await self._publish(stale=stale)
                self._published_whole = True
                self._published.set()
                self.settled.set()
            elif stale:
                await self._publish_stale()

    async def _publish(self, *, stale: bool) -> None:
        """Publish the nodes before the cluster, so that a subscriber to the cluster's level finds them."""
        changed = self._contents.changed()
        for name, node in changed.items():
            uid, present = self._contents.own_labels(name)
            self._labeller.want(name, uid, self._labels(node), present)
        if not self._contents.nodes and self._publisher.last(ClusterSeen) is None and self._key.tenant == NOBODY:
            return  # a management cluster whose nodes are hosted elsewhere has nothing to publish
        if stale != self._stale:
            changed, self._stale = dict(self._contents.nodes), stale
        for name, node in changed.items():
            self._warn(
                (trouble for trouble in node.degraded if trouble.raw), self._publisher.last(NodeSeen, name), name
            )
        await self._publisher.publish_all((name, self._with_freshness(node)) for name, node in changed.items())
        if self._contents.left():
            await self._publisher.publish_all(list(self._gone(NodeSeen, self._contents.nodes)))
        last = self._publisher.last(ClusterSeen)
        seen = self._contents.cluster(last, self._clock())
        seen = seen.but(degraded=(*seen.degraded, *self._troubles()))
        self._warn((trouble for trouble in seen.degraded if trouble.reason == UNREADABLE), last, "")
        if await self._publisher.publish(self._with_freshness(seen)):
            self._gauges.schedule()
        await self._publish_storage()

    async def _publish_storage(self) -> None:
        now = (self._contents.storage(), self._stale, any(resource in self._outages.lasting for resource in BESIDE))
        if now == self._published_storage:
            return
        self._published_storage = now
        storage, _, broken = now
        await self._publisher.publish_all((name, self._with_freshness(one)) for name, one in storage.items())
        if storage or not broken:
            await self._publisher.publish_all(list(self._gone(StorageSeen, storage)))

    def _warn(self, troubles: Iterable[Trouble], last: Level | None, node: str) -> None:
        """Log and count each trouble that the last level does not have."""
        before = last.degraded if last is not None else ()
        for trouble in troubles:
            if trouble not in before:
                self._meters.count(VIOLATIONS, trouble.reason)
                log.warning(
                    "inventory.violation", entity=self._key.path, node=node or None, reason=trouble.reason,
                    message=trouble.message, raw=trouble.raw,
                )  # fmt: skip

    async def _publish_stale(self) -> None:
        """Mark the levels of an earlier process as stale, as nothing was listed since; or publish a refusal."""
        levels: Iterable[tuple[str, Level]] = chain(
            self._publisher.current(NodeSeen),
            self._publisher.current(StorageSeen),
            self._publisher.current(ClusterSeen),
        )
        self._stale = True
        await self._publisher.publish_all([(name, self._with_freshness(level)) for name, level in levels])
        if self._outages.refusals and self._publisher.last(ClusterSeen) is None:
            await self._publisher.publish(self._with_freshness(self._contents.refused(self._outages.refusals[0])))

    def _with_freshness(self, level: Level) -> Level:
        if not self._stale:
            return level
        if isinstance(level, ClusterSeen):
            level = level.but(known=False)
        return level.but(freshness="stale")

    def _gone(self, kind: type[NodeSeen | StorageSeen], there: Iterable[str]) -> Iterable[tuple[str, Level]]:
        """The levels of objects that are not in a complete list, marked as gone."""
        names = frozenset(there)
        for name, level in self._publisher.current(kind):
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
