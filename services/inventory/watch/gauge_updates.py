"""Recomputes a cluster's gauges a moment after a change, not at each one."""

import asyncio

from events.telemetry import Meters
from schemas.inventory import ClusterSeen
from schemas.subjects import Key
from services.inventory.read.gauges import gauges
from services.inventory.watch.cluster_state import ClusterContents
from services.inventory.watch.publisher import ClusterPublisher

MEASURE = 1.0
"""Seconds until a change shows in the gauges."""


class GaugeUpdates:
    """One cluster's: what was said of it last is what is counted."""

    def __init__(self, key: Key, book: ClusterContents, publisher: ClusterPublisher, meters: Meters) -> None:
        self._key = key
        self._contents = book
        self._publisher = publisher
        self._meters = meters
        self._due: asyncio.TimerHandle | None = None

    def soon(self) -> None:
        """Something has changed."""
        if self._due is None:
            self._due = asyncio.get_running_loop().call_later(MEASURE, self._count)

    def close(self) -> None:
        """Nothing is counted any more."""
        if self._due is not None:
            self._due.cancel()

    def _count(self) -> None:
        self._due = None
        said = self._publisher.last(ClusterSeen)
        if said is not None:
            for name, series in gauges(self._key.path, said, self._contents.nodes.values()).items():
                self._meters.gauge(name, self._key.path, series)
