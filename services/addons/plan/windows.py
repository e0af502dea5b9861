"""Times at which changes may begin: cron expressions with a duration, in UTC."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cronsim import CronSim, CronSimError

from schemas import durations

FIELDS = 5
"""Of a cron expression: minute, hour, day of the month, month, day of the week."""


@dataclass(frozen=True)
class Window:
    """One time that comes again."""

    cron: str
    lasts: timedelta

    def is_open(self, now: datetime) -> bool:
        """Whether it opened last less than its duration ago."""
        opened = next(CronSim(self.cron, _minute(now) + timedelta(minutes=1), reverse=True), None)
        return opened is not None and now < opened + self.lasts

    def opens(self, now: datetime) -> datetime | None:
        """When it opens next; None: never."""
        return next(CronSim(self.cron, _minute(now)), None)


def window(text: str) -> Window:
    """Read one, such as "0 2 * * 1-5 4h". Raises ValueError."""
    parts = text.split()
    if len(parts) != FIELDS + 1:
        raise ValueError(f'window "{text}" must be five fields of cron and a duration, such as "0 2 * * 1-5 4h"')
    cron = " ".join(parts[:FIELDS])
    try:
        CronSim(cron, datetime(2000, 1, 1, tzinfo=UTC))
        lasts = durations.parse(parts[FIELDS])
    except (CronSimError, ValueError) as wrong:
        raise ValueError(f'window "{text}" cannot be read: {wrong}') from wrong
    if not lasts:
        raise ValueError(f'window "{text}" must last longer than nothing')
    return Window(cron, lasts)


def unreadable(texts: Iterable[str]) -> str:
    """What is wrong with the first that cannot be read; empty if all can."""
    for text in texts:
        try:
            window(text)
        except ValueError as wrong:
            return str(wrong)
    return ""


def closed_until(texts: Iterable[str], now: datetime) -> datetime | None:
    """When the next one opens if none is open; None: changes may begin now, as also without any."""
    windows = [window(text) for text in texts]
    if not windows or any(each.is_open(now) for each in windows):
        return None
    opening = [at for each in windows if (at := each.opens(now)) is not None]
    return min(opening, default=datetime.max.replace(tzinfo=UTC))


def _minute(now: datetime) -> datetime:
    return now.astimezone(UTC).replace(second=0, microsecond=0)
