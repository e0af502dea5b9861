"""Publishes what the back ends' objects show as levels."""

import asyncio
from collections.abc import Callable
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
from services.runtime.level_publisher import FIRST, LONGEST, LevelPublisher, retry_forever
from services.runtime.workqueue import WorkQueue

ObjectName = tuple[str, str]
"""An object's namespace and name."""

log = structlog.get_logger()


class InfraWatch:
    """Watches one back end's objects in all namespaces; what one shows waits for no word of another."""

    def __init__(self, cloud: Cloud, levels: LevelPublisher, jitter: Callable[[], float]) -> None:
        """`jitter` gives 0 to 1."""
        self._cloud = cloud
        self._levels = levels
        self._jitter = jitter
        self._unsaid: dict[ObjectName, InfraSeen] = {}
        self._queue: WorkQueue[ObjectName] = WorkQueue(self._tell, "infra.publish", jitter)
        self._odd: dict[ObjectName, str] = {}
        self._standing: dict[ObjectName, dict[str, InfraSeen]] = {}
        """Of each cluster, by its tenant and name, what bears its marks and is not being deleted."""
        self._unheard = "it was not listed yet"
        self.looked = asyncio.Event()
        """Set once it was tried to see all there is."""
        self.complete = asyncio.Event()
        """Set once all there is was seen, or the API server does not serve the kind."""

    @property
    def backend(self) -> str:
        """Its name."""
        return self._cloud.name

    @property
    def unseen(self) -> str:
        """Why it is not known yet what stands there, for people; empty once it is."""
        return "" if self.complete.is_set() else f"what stands in back end {self.backend} is not seen: {self._unheard}"

    def standing(self, tenant: str, cluster: str) -> tuple[InfraSeen, ...]:
        """What bears the marks of a cluster now, whatever is known of it."""
        return tuple(self._standing.get((tenant, cluster), {}).values())

    async def run(self, kube: Kube) -> None:
        """Follow, for ever, in whichever version is served."""
        watched = self._cloud.watched
        async with self._queue.running():
            while True:
                watched = await self._follow(kube, watched)

    async def _follow(self, kube: Kube, watched: Resource) -> Resource:
        """Follow as long as this version is served; gives the one that is."""
        async with aclosing(kube.watch(watched)) as sights:
            async for sight in sights:
                match sight:
                    case Listed(items):
                        self._listed(items)
                        self._known()
                    case Changed(item, gone):
                        self._saw(item, gone=gone)
                    case Lost(reason):  # what was said stays said: not seeing something is not its absence
                        if (version := await self._served(kube, watched, reason)) not in (None, watched):
                            return version
        return watched

    async def _served(self, kube: Kube, watched: Resource, unheard: str) -> Resource | None:
        """In which version the kind is served now: where in none, there is nothing of it to be seen."""
        try:
            version = await served(kube, self._cloud.watched)
        except Fault:  # nobody can say now
            version = watched
        if version is None:
            self._known()
        elif version == watched:
            self._unheard = unheard
            self.looked.set()
            log.warning("infra.watch_lost", backend=self.backend, reason=unheard)
        return version

    def _known(self) -> None:
        self.complete.set()
        self.looked.set()

    def _listed(self, items: tuple[Object, ...]) -> None:
        """A complete list: what was there, or was about to be told of, and is not in it, is gone."""
        for item in items:
            self._saw(item, gone=False)
        there = {_name(item) for item in items if self._read(item) is not None}
        self._odd = {name: self._odd[name] for name in map(_name, items) if name in self._odd}
        said = ((names, seen) for names, seen in self._levels.named(InfraSeen) if names[1] == self._cloud.name)
        known = {(tenant, name): seen for (tenant, _, name), seen in said} | self._unsaid
        for name, seen in known.items():
            if seen.present and name not in there:
                self._say(name, _gone(seen))

    def _saw(self, item: Object, *, gone: bool) -> None:
        seen = self._read(item)
        if seen is not None:
            self._say(_name(item), _gone(seen) if gone else seen)
        elif (before := self._said(_name(item))) is not None and before.present:
            self._say(_name(item), _gone(before))
        if gone:
            self._odd.pop(_name(item), None)

    def _read(self, item: Object) -> InfraSeen | None:
        """None where it is not one of ours; one of an odd shape shows what it showed before, and what is wrong."""
        try:
            seen = self._cloud.read(item)
            if seen is None:
                return None
            seen = _whole(seen.but(backend=self._cloud.name))
        except MALFORMED as error:
            return self._unread(item, describe(error))
        self._odd.pop(_name(item), None)
        return seen

    def _unread(self, item: Object, reason: str) -> InfraSeen | None:
        name = _name(item)
        if self._odd.get(name) != reason:
            self._odd[name] = reason
            log.warning("infra.unreadable", tenant=name[0], name=name[1], backend=self.backend, reason=reason)
        try:
            who = self._said(name) or attempt_of(item)
            told = f"{self._cloud.watched.kind} {name[1]} cannot be read: {reason}"
            return who and _whole(who.but(backend=self._cloud.name, message=told))
        except MALFORMED:  # not even whose it is
            return None

    def _said(self, name: ObjectName) -> InfraSeen | None:
        """What was said last of an object that bears our marks no more, or is about to be; None if it never did."""
        return self._unsaid.get(name) or self._levels.last(InfraSeen, *self._called(name))

    def _say(self, name: ObjectName, seen: InfraSeen) -> None:
        self._note(name, seen)
        self._unsaid[name] = seen
        self._queue.add(name)

    def _note(self, name: ObjectName, seen: InfraSeen) -> None:
        cluster = (name[0], seen.cluster)
        if seen.present and not seen.deleting:
            self._standing.setdefault(cluster, {})[name[1]] = seen
        elif there := self._standing.get(cluster):
            there.pop(name[1], None)
            if not there:
                del self._standing[cluster]

    async def _tell(self, name: ObjectName) -> None:
        """However long the bus or the API server is away: what is seen last is said in the end."""
        seen = self._unsaid.get(name)
        if seen is None:  # it was put off, and has been said meanwhile
            return
        held = await self._held(name[0], seen)
        await retry_forever(self._jitter, lambda: self._levels.publish(held, *self._called(name)))
        if self._unsaid[name] is seen:
            del self._unsaid[name]

    async def _held(self, tenant: str, seen: InfraSeen) -> InfraSeen:
        backoff = Backoff(self._jitter, FIRST, LONGEST)
        while True:
            try:
                return await self._cloud.verify(tenant, seen)
            except TryLater:
                await asyncio.sleep(backoff.next_delay())

    def _called(self, name: ObjectName) -> tuple[str, str, str]:
        """By what names its level goes: two back ends may each have an object of one name."""
        return (name[0], self._cloud.name, name[1])


def _whole(seen: InfraSeen) -> InfraSeen:
    """As whoever hears it will read it: of a label that is a list, nobody could. Raises MALFORMED."""
    return msgspec.json.decode(msgspec.json.encode(seen), type=InfraSeen)


def _name(item: Object) -> ObjectName:
    return item["metadata"]["namespace"], item["metadata"]["name"]


def _gone(seen: InfraSeen) -> InfraSeen:
    who = InfraSeen(cluster=seen.cluster, uid=seen.uid, attempt=seen.attempt, backend=seen.backend, present=False)
    return who.but(adopted=seen.adopted)
