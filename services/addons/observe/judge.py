"""Evaluates the conditions of watched objects, and publishes each result once."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import structlog

from events.backoff import Bucket, Rate, spent
from schemas.observed_object import ObjectSeen
from services.addons.observe.results import LastResult, is_news, seen_object, version_of
from services.addons.observe.status import COSTLY
from services.addons.observe.watched import ObjectWatch, SeenObject, WatchName, WatchProblem
from services.expressions.budget import SECONDS
from services.expressions.evaluation import EvaluationFailure, FailureReason
from services.expressions.evaluators import Evaluators
from services.expressions.processes import EvaluatorEnded
from services.runtime.context import Context
from services.runtime.level_publisher import LevelPublisher
from services.runtime.workqueue import WorkQueue

SHARE = Rate(0.25, 5)
"""Seconds of evaluation that one tenant may use: so many per second, and so many at once."""
LEAST = 0.005
"""Seconds that each evaluation is charged at least: 50 a second, 1,000 at once."""
MOST_HELD = 1000
"""Objects of one tenant for which a condition may hold at a time: each is a message that is kept."""
AGAIN = 5.0
"""Seconds until an object is evaluated again over which the evaluator ended."""
ENDED_KEPT = 3600.0
"""Seconds that the message about the end of an object is kept."""
ObjectName = tuple[WatchName, str]
"""A watch, and the uid of an object."""

log = structlog.get_logger()


class ObjectJudge:
    """Takes what watches see; objects of one tenant wait for each other alone."""

    def __init__(
        self, context: Context, evaluators: Evaluators, failed: Callable[[ObjectWatch, WatchProblem], None]
    ) -> None:
        """`failed` is called for a watch that has to end."""
        self._clock = context.clock
        self._evaluators = evaluators
        self._failed = failed
        self._levels = LevelPublisher(context, ObjectSeen, retries=True)
        self._last: dict[WatchName, dict[str, LastResult]] = {}
        self._held: dict[str, int] = {}
        """By tenant: how many objects hold."""
        self._shares: dict[str, Bucket] = {}
        self._watches: dict[WatchName, ObjectWatch] = {}
        self._queue: WorkQueue[ObjectName] = WorkQueue(
            self._judge, "watched_object", context.jitter, lane=lambda name: name[0].tenant, parallel=1024
        )
        self._ended: WorkQueue[ObjectName] = WorkQueue(self._forget_ended, "ended_object", context.jitter)

    async def load(self) -> None:
        """Read what was published before."""
        await self._levels.refresh()
        for names, level in self._levels.named(ObjectSeen):
            *watch, uid = names
            name = WatchName(*watch)
            self._note(name, uid, LastResult(level.holds, level.version))
            if level.gone:
                self._ended.add_after((name, uid), ENDED_KEPT)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Evaluate what was seen, and what will be."""
        async with self._queue.running(), self._ended.running():
            yield

    def known(self) -> tuple[WatchName, ...]:
        """Every watch of which something is published."""
        return tuple(self._last)

    def begin(self, watch: ObjectWatch) -> None:
        """From now on evaluate what this watch sees."""
        self._watches[watch.name] = watch

    def see(self, watch: ObjectWatch, uid: str, seen: SeenObject) -> None:
        """Evaluate an object as soon as its tenant's turn comes; only its newest state is evaluated."""
        watch.waiting[uid] = seen
        self._queue.add((watch.name, uid))

    def missing(self, watch: ObjectWatch, uids: set[str]) -> None:
        """A complete list has only these: all others are gone."""
        held = {uid for uid, last in self._last.get(watch.name, {}).items() if last.holds}
        for uid in (held | watch.versions.keys()) - uids:
            for known in (watch.versions, watch.waiting):
                known.pop(uid, None)
            if (last := self._levels.last(ObjectSeen, *watch.name, uid)) is not None:
                self.see(watch, uid, SeenObject(_shape(last), gone=True))

    async def end(self, name: WatchName) -> None:
        """The cluster is watched no longer: what holds there has ended."""
        self._watches.pop(name, None)
        for uid, last in tuple(self._last.get(name, {}).items()):
            level = self._levels.last(ObjectSeen, *name, uid)
            if last.holds and level is not None:
                await self._publish(name, uid, level.but(holds=False, gone=True, as_of=self._clock()))

    async def forget(self, name: WatchName) -> None:
        """The Trigger has no such entry any more: nothing of it is kept."""
        self._watches.pop(name, None)
        await self._levels.forget(ObjectSeen, *name)
        for uid in tuple(self._last.get(name, {})):
            self._note(name, uid, None)

    async def _judge(self, name: ObjectName) -> None:
        watch = self._watches.get(name[0])
        if watch is None or name[1] not in watch.waiting:
            return
        await self._turn(watch.name.tenant)
        if (seen := watch.waiting.get(name[1])) is None:
            return
        try:
            await self._settle(watch, name[1], seen)
        except EvaluatorEnded as why:
            log.warning("trigger.object_unread", tenant=watch.name.tenant, trigger=watch.name.trigger, reason=str(why))
            self._queue.add_after(name, AGAIN)
            return
        if watch.waiting.get(name[1]) is seen:
            del watch.waiting[name[1]]

    async def _settle(self, watch: ObjectWatch, uid: str, seen: SeenObject) -> None:
        """Evaluate and publish. Raises EvaluatorEnded."""
        last = self._last.get(watch.name, {}).get(uid)
        holds = not seen.gone and await self._holds(watch, uid, seen)
        watch.remember(uid, seen)
        if watch.problem and watch.problem.final:
            return
        version, is_change = version_of(seen.item), watch.compares and not seen.gone
        if not is_news(last, version, holds=holds, compares=is_change):
            return
        if holds and not (last and last.holds) and self._held.get(watch.name.tenant, 0) >= MOST_HELD:
            why = f"conditions hold for more than {MOST_HELD} objects of the namespace"
            self._failed(watch, WatchProblem("TooManyObjects", why, final=True))
            return
        await self._publish(watch.name, uid, seen_object(watch.name, seen, self._clock(), holds=holds))

    async def _holds(self, watch: ObjectWatch, uid: str, seen: SeenObject) -> bool:
        """Whether the condition is true; what has no value does not hold. Raises EvaluatorEnded."""
        old = watch.old.get(uid)
        if watch.compares and old is None:  # nothing is known to have changed
            return False
        began = asyncio.get_running_loop().time()
        tenant, variables = watch.name.tenant, {"object": seen.item, "old": old}
        try:
            (value,) = await self._evaluators.evaluate((watch.condition,), variables, tenant)
        finally:
            took = asyncio.get_running_loop().time() - began
            self._shares[tenant] = spent(self._shares.get(tenant), SHARE, self._clock(), min(max(took, LEAST), SECONDS))
        if isinstance(value, EvaluationFailure) and value.reason is FailureReason.TOO_COSTLY:
            self._failed(watch, WatchProblem(COSTLY, value.why, final=True))
        return value is True

    async def _turn(self, tenant: str) -> None:
        """Wait until the tenant has a part of its share again."""
        left = spent(self._shares.get(tenant), SHARE, self._clock(), 0.0).left
        if left < 0.0:
            await asyncio.sleep(-left / SHARE.per_second)

    async def _publish(self, name: WatchName, uid: str, level: ObjectSeen) -> None:
        await self._levels.publish(level, *name, uid)
        self._note(name, uid, LastResult(level.holds, level.version))
        if level.gone:
            self._ended.add_after((name, uid), ENDED_KEPT)
        log.info(
            "trigger.object_seen", tenant=name.tenant, trigger=name.trigger, cluster=name.cluster, holds=level.holds
        )

    def _note(self, name: WatchName, uid: str, last: LastResult | None) -> None:
        known = self._last.setdefault(name, {})
        before = known.pop(uid, None)
        self._held[name.tenant] = (
            self._held.get(name.tenant, 0) + bool(last and last.holds) - bool(before and before.holds)
        )
        if last is not None:
            known[uid] = last
        if not known:
            del self._last[name]

    async def _forget_ended(self, name: ObjectName) -> None:
        """Delete the message about an object that is gone, unless it is there again."""
        level = self._levels.last(ObjectSeen, *name[0], name[1])
        if level is not None and level.gone:
            await self._levels.forget(ObjectSeen, *name[0], name[1])
            self._note(name[0], name[1], None)


def _shape(level: ObjectSeen) -> dict[str, object]:
    """The object as it was published last."""
    return {"apiVersion": level.api_version, "kind": level.kind, **level.object}
