"""Records Kubernetes Events about a Colony's clusters, at a limited rate; the status never waits for it."""

import asyncio
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from hashlib import sha256
from typing import NamedTuple

import structlog

from events.backoff import Bucket, Rate, take
from events.errors import Denied, Fault, NotFound, TryLater
from events.kube.client import Kube, Object
from events.kube.resources import COLONIES, EVENTS
from schemas.addon import AddonState
from schemas.cluster import ClusterState
from schemas.entity import State
from schemas.inventory import ClusterSeen
from schemas.subjects import Key, names_of
from schemas.teardown import Ending, Gone
from schemas.wish import Wish
from services.gateway.kube_events.transitions import Occurrence, occurrences, reachability
from services.gateway.read_models import Name, ReadModels
from services.gateway.wishes import EVENT_ANNOTATION, MANAGER

RATE = Rate(per_second=1 / 30, burst=100)
"""Events of one Colony: as many as 25 clusters make that are founded at once, then two a minute."""
KEPT = timedelta(hours=1)
"""How long a Kubernetes API server keeps an Event by default: what happens again after that is a new one."""
MANY = 4096
"""So many Events and Colonies are remembered before those of more than `KEPT` ago are forgotten."""


class EventCount(NamedTuple):
    """What was written of an Event."""

    times: int
    mark: str
    """Which transition was counted last."""
    at: datetime


class Correlator:
    """The memory of one gateway."""

    def __init__(self, rate: Rate = RATE) -> None:
        self._rate = rate
        self._buckets: dict[Name, Bucket] = {}
        self._counted: dict[tuple[str, str], EventCount] = {}
        """By namespace and name of the Event."""

    def count(self, colony: Name, event: str, mark: str, now: datetime) -> int:
        """How often it has happened, if that is to be written now; 0 if it was, or the Colony has told too much."""
        self._forget(now)
        before = self._counted.get((colony[0], event))
        if before is not None and before.mark == mark:
            return 0
        self._buckets[colony], early = take(self._buckets.get(colony), self._rate, now)
        if early:
            return 0
        again = before is not None and now - before.at < KEPT
        count = before.times + 1 if before is not None and again else 1
        self._counted[colony[0], event] = EventCount(count, mark, now)
        return count

    def _forget(self, now: datetime) -> None:
        if len(self._counted) > MANY:
            self._counted = {name: each for name, each in self._counted.items() if now - each.at < KEPT}
        if len(self._buckets) > MANY:
            self._buckets = {name: each for name, each in self._buckets.items() if now - each.at < self._rate.memory}


RECENT = timedelta(minutes=5)
"""What came to be longer before the start is history: it is told no more."""
WAITING = 1000
"""So many Events wait to be written; what comes then is told by the status alone."""
TRIES = 3

log = structlog.get_logger()


class EventWrite(NamedTuple):
    """One Event to be written."""

    event: Object
    times: int
    """How often it has happened by now."""


class Recorder:
    """Hears every transition, and writes the Events one after another."""

    def __init__(self, kube: Kube, books: ReadModels, clock: Callable[[], datetime]) -> None:
        self._kube = kube
        self._books = books
        self._clock = clock
        self._correlator = Correlator()
        self._before: dict[Key, State] = {}
        self._heard: dict[str, ClusterSeen] = {}
        self._queue: asyncio.Queue[EventWrite] = asyncio.Queue(WAITING)

    def begin(self) -> None:
        """Take up what has just come to be, then everything that does. To be called once all books are read."""
        for view in (self._books.clusters, self._books.teardowns, self._books.addons):
            for key, state in view:
                self._entity(key, state, first=True)
            view.listen(self._entity, self._forget)
        for subject, seen in self._books.seen:
            self._heard[subject] = seen
        self._books.seen.listen(self._level, self._unheard)

    async def run(self) -> None:
        """Write for ever; what cannot be written is told by the status all the same."""
        while True:
            entry = await self._queue.get()
            try:
                await self._write(entry)
            except Fault as why:
                log.warning("event.unwritten", name=entry.event["metadata"]["name"], reason=str(why))
            except Exception:  # a fault of ours must not stop what matters: logged, and told by the status
                log.exception("event.failed", name=entry.event["metadata"]["name"])

    def _entity(self, key: Key, state: State, *, first: bool = False) -> None:
        before, self._before[key] = self._before.get(key), state
        if first and self._clock() - state.since > RECENT:
            return
        cluster = state if isinstance(state, ClusterState) else self._cluster(key.tenant, state)
        if cluster is not None:
            self._put(cluster, occurrences(before, state), f"{state.uid}.{state.revision}", state.since)

    def _forget(self, key: Key) -> None:
        self._before.pop(key, None)

    def _unheard(self, subject: str) -> None:
        self._heard.pop(subject, None)

    def _cluster(self, tenant: str, state: State) -> ClusterState | None:
        name = state.cluster if isinstance(state, AddonState) else state.wish.name  # type: ignore[attr-defined]
        return self._books.cluster(tenant, name)

    def _level(self, subject: str, seen: ClusterSeen) -> None:
        before, self._heard[subject] = self._heard.get(subject), seen
        cluster = self._books.cluster(names_of(subject)[2], seen.cluster)
        if cluster is not None and cluster.uid == seen.uid and not self._ends(cluster):
            at = seen.fresh_since or self._clock()
            self._put(cluster, reachability(before, seen), f"{seen.uid}.seen.{seen.revision}", at)

    def _ends(self, cluster: ClusterState) -> bool:
        """Its API goes with it, which is no news."""
        return isinstance(self._books.teardown(cluster.wish.tenant, cluster.wish.name), Ending | Gone)

    def _put(self, cluster: ClusterState, told: Iterable[Occurrence], mark: str, at: datetime) -> None:
        for each in told:
            event = manifest(cluster.wish, cluster.uid, each, mark, at)
            name = event["metadata"]["name"]
            times = self._correlator.count((cluster.wish.tenant, cluster.wish.colony), name, mark, self._clock())
            if not times or self._queue.full():
                log.debug("event.left_out", name=name, reason=each.reason)
                continue
            self._queue.put_nowait(EventWrite(event | {"count": times}, times))

    async def _write(self, entry: EventWrite) -> None:
        """Raises Fault."""
        write = self._create if entry.times == 1 else self._count
        for _ in range(TRIES - 1):
            try:
                await write(entry)
            except TryLater as later:
                await asyncio.sleep(later.after)
            else:
                return
        await write(entry)

    async def _create(self, entry: EventWrite) -> None:
        try:
            await self._kube.create(EVENTS, entry.event, manager=MANAGER)
        except Denied as denied:  # another replica was faster, or we were, before the start
            if denied.reason != "AlreadyExists":
                raise

    async def _count(self, entry: EventWrite) -> None:
        event = entry.event
        meta = event["metadata"]
        again = {"metadata": {"annotations": meta["annotations"]}}
        again |= {name: event[name] for name in ("count", "lastTimestamp")}
        try:
            await self._kube.patch(EVENTS, meta["name"], meta["namespace"], again, manager=MANAGER)
        except NotFound:  # the API server has forgotten it meanwhile
            await self._create(entry)


def manifest(wish: Wish, uid: str, told: Occurrence, mark: str, at: datetime) -> Object:
    """The Event on the Colony; what happens again to the same cluster has the same name, whoever writes it."""
    digest = sha256(f"{uid}/{wish.cluster}/{told.reason}/{told.message}".encode()).hexdigest()[:16]
    when = at.strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "metadata": {
            "name": f"{wish.colony}.{digest}",
            "namespace": wish.tenant,
            "annotations": {EVENT_ANNOTATION: mark},
        },
        "involvedObject": {
            "apiVersion": COLONIES.api_version,
            "kind": COLONIES.kind,
            "namespace": wish.tenant,
            "name": wish.colony,
            "uid": wish.uid,
        },
        "type": "Warning" if told.warning else "Normal",
        "reason": told.reason,
        "message": f"{wish.cluster}: {told.message}"[:LONGEST],
        "source": {"component": MANAGER},
        "reportingComponent": MANAGER,
        "reportingInstance": MANAGER,
        "firstTimestamp": when,
        "lastTimestamp": when,
        "count": 1,
    }


LONGEST = 1024
"""Characters of a message, as the API server takes it of an Event."""
