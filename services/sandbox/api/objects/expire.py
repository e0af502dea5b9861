"""Deletes Kubernetes Events an hour after their last write, as an API server does by default (--event-ttl)."""

import asyncio
from datetime import timedelta

from events.bus import Unavailable
from events.kube.client import Object
from services.sandbox.api.objects.delete import Options, Remover
from services.sandbox.api.schema.kinds import builtins
from services.sandbox.api.status import StatusError
from services.sandbox.api.store.store import ObjectKey, Store, Topic
from services.sandbox.api.wire.request import RequestClock, stamp

KEPT = timedelta(hours=1)
EVERY = 60.0
"""Seconds between two checks."""
KINDS = (("", "v1", "events"), ("events.k8s.io", "v1", "events"))


class Expiry:
    """Deletes older Events."""

    def __init__(self, store: Store, remover: Remover, clock: RequestClock) -> None:
        self._store = store
        self._remover = remover
        self._clock = clock

    async def run(self) -> None:
        """Check periodically, until cancelled; failures are retried at the next check."""
        while True:
            await asyncio.sleep(EVERY)
            for cluster in tuple(self._store.clusters):
                for group, version, plural in KINDS:
                    await self._expire(Topic(cluster, group, plural), version)

    async def _expire(self, topic: Topic, version: str) -> None:
        kind = builtins()[topic.group, version, topic.plural]
        oldest = stamp(lambda: self._clock() - KEPT)
        for (namespace, name), entry in self._store.scan(topic):
            if _written(entry.read()) < oldest:
                try:
                    await self._remover.delete(kind, ObjectKey(*topic, namespace, name), Options())
                except (StatusError, Unavailable):  # it is gone, or the journal is away: the next look sees
                    continue


def _written(event: Object) -> str:
    """The time of the last write, as the API server recorded it; such times sort as text."""
    meta = event["metadata"]
    return max(map(str, (meta["creationTimestamp"], *(each.get("time", "") for each in meta.get("managedFields", ())))))
