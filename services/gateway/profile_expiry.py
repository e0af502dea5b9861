"""Deletes AddonProfiles whose time is over."""

from datetime import datetime

import msgspec
import structlog

from events.errors import Fault, NotFound
from events.kube.client import Changed, Kube, Listed, Lost, Object
from events.kube.resources import ADDONPROFILES
from services.kubernetes.labels import EXPIRES
from services.runtime.context import Context
from services.runtime.share import share_key
from services.runtime.workqueue import WorkQueue

LONGEST = 3600.0
"""Seconds after which the clock is looked at again: it may be set, and a loop's timer may drift."""
ANOTHER = 10.0
"""Seconds until it is looked again whether another replica has deleted its own."""
_Name = tuple[str, str]
"""Namespace and name."""

log = structlog.get_logger()


class ProfileExpiry:
    """Watches AddonProfiles and deletes each at the time of its annotation."""

    def __init__(self, kube: Kube, context: Context) -> None:
        self._share = context.share
        self._kube = kube
        self._clock = context.clock
        self._ends: dict[_Name, tuple[datetime, str]] = {}
        """When each ends, and the UID of the object that said so."""
        self._queue: WorkQueue[_Name] = WorkQueue(self._expire, "profile_expiry", context.jitter)

    async def run(self) -> None:
        """Delete what has expired, until cancelled."""
        async with self._queue.running():
            async for sight in self._kube.watch(ADDONPROFILES):
                match sight:
                    case Listed(items):
                        self._ends.clear()
                        for item in items:
                            self._observe(item)
                    case Changed(item, gone):
                        self._observe(item, gone=gone)
                    case Lost(reason):
                        log.warning("kubernetes.watch_lost", reason=reason)

    def _observe(self, item: Object, *, gone: bool = False) -> None:
        meta = item["metadata"]
        name = (meta["namespace"], meta["name"])
        at = None if gone or meta.get("deletionTimestamp") else expiry(item)
        if at is None:
            self._ends.pop(name, None)
        else:
            self._ends[name] = (at, meta["uid"])
            self._wait(name, at)

    def _wait(self, name: _Name, at: datetime) -> None:
        self._queue.add_after(name, min(max(0.0, (at - self._clock()).total_seconds()), LONGEST))

    async def _expire(self, name: _Name) -> None:
        """Delete one if its time is over."""
        if (end := self._ends.get(name)) is None:
            return
        if end[0] > self._clock():
            self._wait(name, end[0])
            return
        if not self._share.mine(share_key(*name)):
            self._queue.add_after(name, ANOTHER)  # until its owner has deleted it, or has died
            return
        try:
            await self._kube.delete(ADDONPROFILES, name[1], name[0], uid=end[1])
        except NotFound:
            pass
        except Fault as why:
            log.warning("profile.unexpired", tenant=name[0], name=name[1], reason=str(why))
            self._queue.add_rate_limited(name)
            return
        log.info("profile.expired", tenant=name[0], name=name[1])
        self._queue.forget(name)
        self._ends.pop(name, None)


def expiry(item: Object) -> datetime | None:
    """When an AddonProfile ends; None: never. A time that cannot be read, as people write some, ends nothing."""
    if not (written := item["metadata"].get("annotations", {}).get(EXPIRES)):
        return None
    try:
        at = msgspec.convert(written, datetime)
    except msgspec.ValidationError:
        at = None
    if at is None or at.tzinfo is None:
        log.warning("profile.expiry_unread", name=item["metadata"]["name"], written=written)
        return None
    return at
