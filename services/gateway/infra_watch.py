"""Publishes what the back ends' objects show as levels."""

import asyncio
from contextlib import aclosing

import msgspec
import structlog

from events.backoff import Backoff
from events.errors import Fault, TryLater
from events.kube.client import Changed, Kube, Listed, Lost, Object, Resource
from schemas.infra import InfraSeen
from services.clouds.cluster_object import attempt_of, served
from services.clouds.port import Cloud
from services.kubernetes.malformed import MALFORMED, describe
from services.runtime.context import Context
from services.runtime.level_publisher import FIRST, LONGEST, LevelPublisher, Outdated, retry_forever
from services.runtime.share import ShareChange, share_key
from services.runtime.workqueue import WorkQueue

ObjectName = tuple[str, str]
"""An object's namespace and name."""

log = structlog.get_logger()


class InfraWatch:
    """Watches one back end's objects in all namespaces, and publishes each without waiting for the others."""

    def __init__(self, cloud: Cloud, levels: LevelPublisher, context: Context) -> None:
        self._cloud = cloud
        self._share = context.share
        self._levels = levels
        self._jitter = context.jitter
        self._unpublished: dict[ObjectName, InfraSeen] = {}
        self._queue: WorkQueue[ObjectName] = WorkQueue(self._publish, "infra.publish", context.jitter)
        self._malformed: dict[ObjectName, str] = {}
        self._objects: dict[ObjectName, dict[str, InfraSeen]] = {}
        """By a cluster's tenant and name: the objects that have its labels and are not being deleted."""
        self._why_unknown = "they were not listed yet"
        self.attempted = asyncio.Event()
        """Set after the first attempt to list all objects."""
        self.complete = asyncio.Event()
        """Set once all objects were listed, or the API server does not serve the kind."""

    @property
    def backend(self) -> str:
        """The name of the back end."""
        return self._cloud.name

    @property
    def why_unknown(self) -> str:
        """Why its objects are not known yet, for people; empty once they are."""
        return (
            ""
            if self.complete.is_set()
            else f"the objects in back end {self.backend} are not known: {self._why_unknown}"
        )

    def objects_of(self, tenant: str, cluster: str) -> tuple[InfraSeen, ...]:
        """The objects that have the labels of a cluster now, whether or not it has a history."""
        return tuple(self._objects.get((tenant, cluster), {}).values())

    async def run(self, kube: Kube) -> None:
        """Watch for ever, in the version that is served."""
        watched = self._cloud.watched
        self._share.listen(self._move)
        async with self._queue.running():
            while True:
                watched = await self._watch(kube, watched)

    async def _watch(self, kube: Kube, watched: Resource) -> Resource:
        """Watch as long as this version is served; returns the one that is served then."""
        async with aclosing(kube.watch(watched)) as sights:
            async for sight in sights:
                match sight:
                    case Listed(items):
                        self._replace(items)
                        self._set_complete()
                    case Changed(item, gone):
                        self._observe(item, gone=gone)
                    case Lost(reason):  # what was published stays: an object that cannot be seen is not absent
                        if (version := await self._served(kube, watched, reason)) not in (None, watched):
                            return version
        return watched

    async def _served(self, kube: Kube, watched: Resource, reason: str) -> Resource | None:
        """The version in which the kind is served now; None if it is not served, and so has no objects."""
        try:
            version = await served(kube, self._cloud.watched)
        except Fault:  # it cannot be found out now
            version = watched
        if version is None:
            self._set_complete()
        elif version == watched:
            self._why_unknown = reason
            self.attempted.set()
            log.warning("infra.watch_lost", backend=self.backend, reason=reason)
        return version

    def _set_complete(self) -> None:
        self.complete.set()
        self.attempted.set()

    def _replace(self, items: tuple[Object, ...]) -> None:
        """Publish a complete list: an object that was published, or waits to be, and is not in it, is gone."""
        for item in items:
            self._observe(item, gone=False)
        there = {_name(item) for item in items if self._read(item) is not None}
        self._malformed = {name: self._malformed[name] for name in map(_name, items) if name in self._malformed}
        published = ((names, seen) for names, seen in self._levels.named(InfraSeen) if names[1] == self._cloud.name)
        known = {(tenant, name): seen for (tenant, _, name), seen in published} | self._unpublished
        for name, seen in known.items():
            if seen.present and name not in there:
                self._enqueue(name, _gone(seen))

    def _observe(self, item: Object, *, gone: bool) -> None:
        seen = self._read(item)
        if seen is not None:
            self._enqueue(_name(item), _gone(seen) if gone else seen)
        elif (before := self._last(_name(item))) is not None and before.present:
            self._enqueue(_name(item), _gone(before))
        if gone:
            self._malformed.pop(_name(item), None)

    def _read(self, item: Object) -> InfraSeen | None:
        """Read an object; None if it is not ours. A malformed one keeps its last level, with the error as message."""
        try:
            seen = self._cloud.read(item)
            if seen is None:
                return None
            seen = _decoded(seen.but(backend=self._cloud.name))
        except MALFORMED as error:
            return self._read_malformed(item, describe(error))
        self._malformed.pop(_name(item), None)
        return seen

    def _read_malformed(self, item: Object, reason: str) -> InfraSeen | None:
        name = _name(item)
        if self._malformed.get(name) != reason:
            self._malformed[name] = reason
            log.warning("infra.unreadable", tenant=name[0], name=name[1], backend=self.backend, reason=reason)
        try:
            known = self._last(name) or attempt_of(item)
            message = f"{self._cloud.watched.kind} {name[1]} cannot be read: {reason}"
            return known and _decoded(known.but(backend=self._cloud.name, message=message))
        except MALFORMED:  # its cluster is unknown, too
            return None

    def _last(self, name: ObjectName) -> InfraSeen | None:
        """The last level of an object, published or waiting; None if it never had our labels."""
        return self._unpublished.get(name) or self._levels.last(InfraSeen, *self._names(name))

    def _enqueue(self, name: ObjectName, seen: InfraSeen) -> None:
        self._remember(name, seen)
        self._unpublished[name] = seen
        self._queue.add(name)

    def _remember(self, name: ObjectName, seen: InfraSeen) -> None:
        cluster = (name[0], seen.cluster)
        if seen.present and not seen.deleting:
            self._objects.setdefault(cluster, {})[name[1]] = seen
        elif there := self._objects.get(cluster):
            there.pop(name[1], None)
            if not there:
                del self._objects[cluster]

    async def _publish(self, name: ObjectName) -> None:
        """Publish an object's newest level, however long the bus or the API server is away.

        An object of another replica's share stays unpublished here, until it comes into ours.
        """
        seen = self._unpublished.get(name)
        if seen is None or not self._share.mine(share_key(*name)):
            return
        verified = await self._verified(name[0], seen)
        try:
            await retry_forever(self._jitter, lambda: self._levels.publish(verified, *self._names(name)))
        except Outdated as why:
            log.info("infra.outdated", backend=self.backend, reason=str(why))
            self._queue.add_rate_limited(name)
            return
        self._queue.forget(name)
        if self._unpublished.get(name) is seen:
            del self._unpublished[name]

    def _move(self, change: ShareChange) -> None:
        for name in self._unpublished:
            if change.gained(share_key(*name)):
                self._queue.add(name)

    async def _verified(self, tenant: str, seen: InfraSeen) -> InfraSeen:
        backoff = Backoff(self._jitter, FIRST, LONGEST)
        while True:
            try:
                return await self._cloud.verify(tenant, seen)
            except TryLater:
                await asyncio.sleep(backoff.next_delay())

    def _names(self, name: ObjectName) -> tuple[str, str, str]:
        """The names in the subject of its level: two back ends may each have an object of one name."""
        return (name[0], self._cloud.name, name[1])


def _decoded(seen: InfraSeen) -> InfraSeen:
    """The level as its subscribers will decode it. Raises MALFORMED, such as for a label that is a list."""
    return msgspec.json.decode(msgspec.json.encode(seen), type=InfraSeen)


def _name(item: Object) -> ObjectName:
    return item["metadata"]["namespace"], item["metadata"]["name"]


def _gone(seen: InfraSeen) -> InfraSeen:
    known = InfraSeen(cluster=seen.cluster, uid=seen.uid, attempt=seen.attempt, backend=seen.backend, present=False)
    return known.but(adopted=seen.adopted)
