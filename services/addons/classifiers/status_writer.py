"""Writes the status of each ClusterClassifier when what is known of it has changed."""

import asyncio

import structlog

from events.errors import Fault
from events.kube.client import Kube
from events.kube.resources import CLUSTERCLASSIFIERS
from services.addons.classifiers.status import status
from services.addons.plan.controller import PlanController
from services.addons.plan.status_writer import MANAGER
from services.runtime.context import Context
from services.runtime.workqueue import WorkQueue

SOON, LATER = 0.2, 30.0
"""Seconds from a change to the status, as more changes mostly follow, and until it is tried again after a fault."""

log = structlog.get_logger()


class ClassifierStatusWriter:
    """Follows what classifiers give clusters."""

    def __init__(self, management: Kube, plans: PlanController, context: Context) -> None:
        self._management = management
        self._ready = plans.ready
        self._classifications = plans.classifications
        self._clock = context.clock
        self._queue: WorkQueue[str] = WorkQueue(self._write, "classifier_status", context.jitter)
        plans.classifications.listen(lambda name: self._queue.add_after(name, SOON))

    async def run(self) -> None:
        """Write until cancelled, once everything is known."""
        await self._ready.wait()
        async with self._queue.running():
            for name in self._classifications.store:
                self._queue.add(name)
            await asyncio.Event().wait()

    async def _write(self, name: str) -> None:
        known = self._classifications.store.get(name)
        if known is None:
            return
        if not self._classifications.complete:
            self._queue.add_after(name, SOON)
            return
        problems = self._classifications.problems(known)
        computed = status(known, self._classifications.found, problems, self._clock())
        if computed == known.item.get("status"):
            return
        document = {"metadata": {"name": name}, "status": computed}
        try:
            await self._management.apply(CLUSTERCLASSIFIERS, document, manager=MANAGER, subresource="status")
        except Fault as why:
            log.warning("classifier.status_unwritten", name=name, reason=str(why))
            self._queue.add_after(name, LATER)
