"""Metrics of the lag of every consumer and of the number of dead letters."""

import asyncio
from collections.abc import Iterable

import structlog

from events.bus import Bus, ConsumerLag, Unavailable
from events.meters import Meters

PENDING = "alate.consumer.pending"
"""Messages that are not delivered to a consumer yet."""
UNANSWERED = "alate.consumer.unanswered"
"""Messages that are delivered and not acknowledged."""
REDELIVERED = "alate.consumer.redelivered"
"""Unacknowledged messages that were delivered more than once."""
LETTERS = "alate.dead_letters.kept"
"""Dead letters that were neither redriven nor dropped."""
MEASURE = 15.0
"""Seconds between two measurements, one request per stream: the usual interval between scrapes."""
DLQ = "DLQ"
LagLabels = tuple[tuple[str, str], ...]

log = structlog.get_logger()


class LagMetrics:
    """Measures the lag periodically; every replica reports the same."""

    def __init__(self, bus: Bus, streams: Iterable[str], meters: Meters) -> None:
        self._bus = bus
        self._streams = tuple(streams)
        self._meters = meters

    async def run(self) -> None:
        """Measure until cancelled; while the bus is unavailable, the last values stay."""
        while True:
            try:
                await self._measure()
            except Unavailable as away:
                log.debug("bus.unavailable", reason=str(away))
            await asyncio.sleep(MEASURE)

    async def _measure(self) -> None:
        for stream in self._streams:
            for name, series in lags(await self._bus.consumers(stream)).items():
                self._meters.gauge(name, stream, series)
        self._meters.gauge(LETTERS, DLQ, {(("stream", DLQ),): float(await self._bus.count(DLQ, "dlq.>"))})


def lags(places: Iterable[ConsumerLag]) -> dict[str, dict[LagLabels, float]]:
    """The series of one stream, by gauge."""
    found: dict[str, dict[LagLabels, float]] = {PENDING: {}, UNANSWERED: {}, REDELIVERED: {}}
    for place in places:
        labels = (("stream", place.stream), ("consumer", place.consumer))
        found[PENDING][labels] = float(place.pending)
        found[UNANSWERED][labels] = float(place.unanswered)
        found[REDELIVERED][labels] = float(place.redelivered)
    return found
