"""Reports errors in the targets file when it is saved."""

import asyncio

import structlog

from events.telemetry import Meters
from services.outbound.targets import TargetFile

LOOK = 2.0
"""Seconds between two looks."""
TARGETS = "alate.outbound.targets"
"""Targets by how they stand: told, without a secret; and whether the file is refused as it is now."""
SOURCE = "targets"

log = structlog.get_logger()


async def watch(targets: TargetFile, meters: Meters) -> None:
    """Look for ever."""
    before: frozenset[str] = frozenset()
    while True:
        known = targets.now()
        bare = frozenset(name for name, target in known.items() if not targets.secrets(target))
        for name in sorted(bare - before):
            log.warning("outbound.secret_missing", target=name, why="its file among the secrets is absent or empty")
        for name in sorted((before - bare) & known.keys()):
            log.info("outbound.secret_found", target=name)
        before = bare
        stands = {"told": len(known) - len(bare), "secretless": len(bare), "refused": bool(targets.wrong)}
        meters.gauge(TARGETS, SOURCE, {(("state", name),): float(count) for name, count in stands.items()})
        await asyncio.sleep(LOOK)
