"""Watches Trigger objects and writes into their status whether they are active."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import datetime

import structlog

from events.errors import Fault
from events.kube.client import Changed, Kube, Listed, Lost, Object, Sight
from events.kube.resources import TRIGGERS
from schemas.crds import InvalidResource, read_trigger
from services.edge.triggers.delivery import Channel
from services.edge.triggers.evaluator_pool import Evaluator
from services.edge.triggers.fair_share import ShareExhausted
from services.edge.triggers.status import COSTLY, FOLLOWED, INVALID, is_off, is_written, status
from services.edge.triggers.trigger import ActiveTrigger
from services.expressions.processes import EvaluatorEnded, TooCostly
from services.kubernetes.malformed import MALFORMED
from services.runtime.workqueue import WorkQueue

MANAGER = "alate-edge"
AGAIN = 5.0
"""Seconds, at least, until a Trigger is read again after the evaluator ended or the tenant's share was used up."""
AT_ONCE = 64
"""Tenants whose Triggers are read in parallel; those of one tenant are read in order."""
TriggerName = tuple[str, str]
"""Namespace and name."""

log = structlog.get_logger()


class CrdTriggers:
    """The Triggers of every namespace."""

    def __init__(self, kube: Kube, evaluators: Evaluator, clock: Callable[[], datetime]) -> None:
        self.listed = asyncio.Event()
        """Set once all Triggers are known."""
        self._kube = kube
        self._evaluators = evaluators
        self._clock = clock
        self._known: dict[TriggerName, tuple[ActiveTrigger, Object]] = {}
        self._unread: dict[TriggerName, Object] = {}
        """Objects that are not read yet, as they are now."""
        self._blocking: dict[TriggerName, ActiveTrigger] = {}
        """Unread Triggers that were not active before: what they hear waits until they are read."""
        self._first: set[TriggerName] = set()
        """Triggers of the first list that were not tried yet."""
        self._queue: WorkQueue[TriggerName] = WorkQueue(
            self._reconcile, "trigger", lane=lambda name: name[0], parallel=AT_ONCE
        )

    def listening_to(self, channel: Channel) -> Iterator[ActiveTrigger]:
        """Active Triggers that hear what comes from there. Raises EvaluatorEnded while one of them is unread."""
        if unread := next((each for each in self._blocking.values() if each.listens(channel)), None):
            raise EvaluatorEnded(f"Trigger {unread.tenant}/{unread.name} is not read yet")
        heard = {name: known for name, (known, _) in self._known.items() if known.listens(channel)}
        return (heard[name] for name in sorted(heard))

    async def switch_off(self, trigger: ActiveTrigger, why: str) -> None:
        """Deactivate a Trigger until it is changed, and write the reason into its status."""
        known, item = self._known.get((trigger.tenant, trigger.name), (None, {}))
        if known is trigger:
            self._known.pop(_name(item))
            await self._write_status(item, COSTLY, why)

    async def run(self) -> None:
        """Watch until cancelled."""
        async with self._queue.running():
            async for sight in self._kube.watch(TRIGGERS):
                self._on_watch(sight)

    def _on_watch(self, sight: Sight) -> None:
        match sight:
            case Listed(items):
                names = set(map(_name, items))
                for gone in (self._known.keys() | self._unread.keys()) - names:
                    self._forget(gone)
                for item in items:
                    self._enqueue(item)
                self._first = self._first if self.listed.is_set() else names
                self._mark_tried()
            case Changed(item, gone):
                self._forget(_name(item)) if gone else self._enqueue(item)
            case Lost(reason):
                log.warning("kubernetes.watch_lost", reason=reason)

    def _forget(self, name: TriggerName) -> None:
        for known in (self._known, self._unread, self._blocking):
            known.pop(name, None)

    def _enqueue(self, item: Object) -> None:
        """Have the object read; until then its Trigger stays active as it was."""
        name = _name(item)
        self._unread[name] = item
        if not self._queue.is_delayed(name):
            self._queue.add(name)

    async def _reconcile(self, name: TriggerName) -> None:
        """Read one Trigger; if the evaluator cannot do so now, it is queued again and delays no other."""
        try:
            if (item := self._unread.get(name)) is not None:
                await self._read(item)
                self._mark_read(name, item)
        except (EvaluatorEnded, ShareExhausted) as why:
            log.warning("trigger.unread", tenant=name[0], name=name[1], reason=str(why))
            self._queue.add_after(name, max(AGAIN, why.after) if isinstance(why, ShareExhausted) else AGAIN)
        finally:
            self._mark_tried(name)

    def _mark_read(self, name: TriggerName, item: Object) -> None:
        self._blocking.pop(name, None)
        if self._unread.get(name) is item:
            del self._unread[name]

    def _mark_tried(self, *names: TriggerName) -> None:
        self._first.difference_update(names)
        if not self._first:
            self.listed.set()

    async def _read(self, item: Object) -> None:
        """An object that no API server would accept is not active. Raises EvaluatorEnded, ShareExhausted."""
        if is_off(item):
            self._known.pop(_name(item), None)
            return
        try:
            await self._activate(item)
        except InvalidResource as why:
            await self._refuse(item, INVALID, str(why))
        except TooCostly as why:
            await self._refuse(item, COSTLY, str(why))
        except MALFORMED:
            self._known.pop(_name(item), None)
            log.exception("trigger.unreadable", tenant=_name(item)[0], name=_name(item)[1])

    async def _activate(self, item: Object) -> None:
        name, followed = _name(item), ActiveTrigger(read_trigger(item))
        before, _ = self._known.get(name, (None, {}))
        if before is not None and before.written == followed.written:
            followed = before
        else:
            await self._evaluate(name, followed)
        if name in self._unread:  # it was not deleted meanwhile
            self._known[name] = (followed, item)
            await self._write_status(item, FOLLOWED, "Its rules are followed.")

    async def _evaluate(self, name: TriggerName, followed: ActiveTrigger) -> None:
        try:
            await self._evaluators.read(followed)
        except (InvalidResource, TooCostly):
            raise
        except Exception:
            if name in self._unread and name not in self._known:
                self._blocking[name] = followed
            raise

    async def _refuse(self, item: Object, reason: str, why: str) -> None:
        self._known.pop(_name(item), None)
        log.warning("trigger.refused", tenant=_name(item)[0], name=_name(item)[1], reason=why)
        await self._write_status(item, reason, why)

    async def _write_status(self, item: Object, reason: str, message: str) -> None:
        computed = status(item, reason, message, self._clock())
        if is_written(item, computed):
            return
        meta = {"name": item["metadata"]["name"], "namespace": item["metadata"]["namespace"]}
        try:
            document = {"metadata": meta, "status": computed}
            await self._kube.apply(TRIGGERS, document, manager=MANAGER, subresource="status")
        except Fault as why:  # it is written after the next list
            log.warning("trigger.status_unwritten", tenant=meta["namespace"], name=meta["name"], reason=str(why))


def _name(item: Object) -> TriggerName:
    return item["metadata"]["namespace"], item["metadata"]["name"]
