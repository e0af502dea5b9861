"""What an earlier release said of back ends' objects, whose subjects lacked the back end, is said anew once."""

import msgspec
import structlog

from events.bus import Bus
from schemas.infra import InfraSeen
from schemas.registry import Stream
from schemas.subjects import names_of
from schemas.unreadable import UNREADABLE
from services.runtime.level_publisher import LevelPublisher

BEFORE = "observed.infra.*.*"
"""``observed.infra.<tenant>.<object>``."""

log = structlog.get_logger()


async def carry_over(bus: Bus, levels: LevelPublisher) -> None:
    """Say it anew, lest what went meanwhile is never missed, and purge it. Raises Unavailable."""
    found = await bus.read(Stream.LEVELS, BEFORE)
    for stored in found:
        _, _, tenant, name = names_of(stored.subject)
        try:
            seen = msgspec.json.decode(stored.data, type=InfraSeen)
        except UNREADABLE as wrong:  # the object itself says it all again, if it is there
            log.warning("message.undecodable", subject=stored.subject, reason=str(wrong))
            continue
        if seen.backend and levels.last(InfraSeen, tenant, seen.backend, name) is None:
            await levels.publish(seen, tenant, seen.backend, name)
    if found:
        await bus.purge(Stream.LEVELS, BEFORE)
