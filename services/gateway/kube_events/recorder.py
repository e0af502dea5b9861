"""Records Kubernetes Events about a Colony's clusters, at a limited rate; the status never waits for it."""

import asyncio
from collections.abc import Iterable
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
from services.runtime.context import Context
from services.runtime.share import ShareChange, share_key

RATE = Rate(per_second=1 / 30, burst=100)
"""Events of one Colony: as many as 25 clusters cause that are created at once, then two a minute."""
KEPT = timedelta(hours=1)
"""How long a Kubernetes API server keeps an Event by default: a repetition after that is a new Event."""
MANY = 4096
"""The number of Events and Colonies above which those of more than `KEPT` ago are forgotten."""


class EventCount(NamedTuple):
    """How often an Event was counted, and when last."""

    times: int
    mark: str
    """The transition that was counted last."""
    at: datetime


class Correlator:
    """Counts repeated Events, and limits the rate of each Colony; as the EventCorrelator of client-go does."""

    def __init__(self, rate: Rate = RATE) -> None:
        self._rate = rate
        self._buckets: dict[Name, Bucket] = {}
        self._counted: dict[tuple[str, str], EventCount] = {}
        """By namespace and name of the Event."""

    def count(self, colony: Name, event: str, mark: str, now: datetime) -> int:
        """How often it has happened; 0 if this transition was counted before, or the Colony has reached its rate."""
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
"""A transition that is older at the start is not recorded."""
WAITING = 1000
"""The number of Events that may wait to be written; further ones are dropped."""
TRIES = 3

log = structlog.get_logger()


class EventWrite(NamedTuple):
    """One Event to be written."""

    event: Object
    times: int
    """How often it has happened by now."""


class Recorder:
    """Follows every transition, and writes the Events one after another."""

    def __init__(self, kube: Kube, models: ReadModels, context: Context) -> None:
        self._share = context.share
        self._kube = kube
        self._models = models
        self._clock = context.clock
        self._correlator = Correlator()
        self._before: dict[Key, State] = {}
        self._reachability: dict[str, ClusterSeen] = {}
        self._queue: asyncio.Queue[EventWrite] = asyncio.Queue(WAITING)

    def begin(self) -> None:
        """Record recent transitions, then every new one. To be called once all read models are complete."""
        for view in (self._models.clusters, self._models.teardowns, self._models.addons):
            for key, state in view:
                self._observe_state(key, state, first=True)
            view.listen(self._observe_state, self._forget)
        for subject, seen in self._models.seen:
            self._reachability[subject] = seen
        self._models.seen.listen(self._observe_level, self._forget_level)
        self._share.listen(self._take_over)

    async def run(self) -> None:
        """Write for ever; an Event that cannot be written is dropped, as the status shows the same."""
        while True:
            entry = await self._queue.get()
            try:
                await self._write(entry)
            except Fault as why:
                log.warning("event.unwritten", name=entry.event["metadata"]["name"], reason=str(why))
            except Exception:  # a fault of ours must not stop what matters: logged, and shown by the status
                log.exception("event.failed", name=entry.event["metadata"]["name"])

    def _take_over(self, change: ShareChange) -> None:
        """Record the recent transitions of Colonies that were another replica's: it may have died before it did."""
        for view in (self._models.clusters, self._models.teardowns, self._models.addons):
            for key, state in view:
                cluster = self._cluster_of(key, state)
                if cluster and change.gained(share_key(key.tenant, cluster.wish.colony)):
                    self._observe_state(key, state, first=True)

    def _cluster_of(self, key: Key, state: State) -> ClusterState | None:
        return state if isinstance(state, ClusterState) else self._cluster(key.tenant, state)

    def _observe_state(self, key: Key, state: State, *, first: bool = False) -> None:
        before, self._before[key] = self._before.get(key), state
        if first and self._clock() - state.since > RECENT:
            return
        cluster = self._cluster_of(key, state)
        if cluster is not None:
            self._enqueue(cluster, occurrences(before, state), f"{state.uid}.{state.revision}", state.since)

    def _forget(self, key: Key) -> None:
        self._before.pop(key, None)

    def _forget_level(self, subject: str) -> None:
        self._reachability.pop(subject, None)

    def _cluster(self, tenant: str, state: State) -> ClusterState | None:
        name = state.cluster if isinstance(state, AddonState) else state.wish.name  # type: ignore[attr-defined]
        return self._models.cluster(tenant, name)

    def _observe_level(self, subject: str, seen: ClusterSeen) -> None:
        before, self._reachability[subject] = self._reachability.get(subject), seen
        cluster = self._models.cluster(names_of(subject)[2], seen.cluster)
        if cluster is not None and cluster.uid == seen.uid and not self._ends(cluster):
            at = seen.fresh_since or self._clock()
            self._enqueue(cluster, reachability(before, seen), f"{seen.uid}.seen.{seen.revision}", at)

    def _ends(self, cluster: ClusterState) -> bool:
        """Whether the cluster is being torn down: that its API becomes unreachable is then expected."""
        return isinstance(self._models.teardown(cluster.wish.tenant, cluster.wish.name), Ending | Gone)

    def _enqueue(self, cluster: ClusterState, occurred: Iterable[Occurrence], mark: str, at: datetime) -> None:
        if not self._share.mine(share_key(cluster.wish.tenant, cluster.wish.colony)):
            return
        for each in occurred:
            event = manifest(cluster.wish, cluster.uid, each, mark, at)
            name = event["metadata"]["name"]
            times = self._correlator.count((cluster.wish.tenant, cluster.wish.colony), name, mark, self._clock())
            if not times or self._queue.full():
                log.debug("event.left_out", name=name, reason=each.reason)
                continue
            self._queue.put_nowait(EventWrite(event | {"count": times}, times))

    async def _write(self, entry: EventWrite) -> None:
        """Write one Event. Raises Fault."""
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


def manifest(wish: Wish, uid: str, occurrence: Occurrence, mark: str, at: datetime) -> Object:
    """The Event on the Colony; a repetition for the same cluster has the same name from every replica."""
    digest = sha256(f"{uid}/{wish.cluster}/{occurrence.reason}/{occurrence.message}".encode()).hexdigest()[:16]
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
        "type": "Warning" if occurrence.warning else "Normal",
        "reason": occurrence.reason,
        "message": f"{wish.cluster}: {occurrence.message}"[:LONGEST],
        "source": {"component": MANAGER},
        "reportingComponent": MANAGER,
        "reportingInstance": MANAGER,
        "firstTimestamp": when,
        "lastTimestamp": when,
        "count": 1,
    }


LONGEST = 1024
"""The number of characters that the API server allows in the message of an Event."""
