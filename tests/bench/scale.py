"""How founding grows in one process: decisions and real JetStream, the clouds answering at once."""

import asyncio
import sys
from pathlib import Path

import msgspec

from events.jetstream.server import NatsServer
from tests.bench.figure import Figure, Goal
from tests.bench.growth import Outcome, cpu, figures
from tests.bench.memory import resident

SIZES = (100, 1_000, 10_000)
GOALS = {10_000: Goal("ours", 30.0)}


async def measure(folder: Path) -> list[Figure]:
    """Figures for each number of clusters, each on a server of its own."""
    return figures("founded in one process", [await _outcome(folder / str(size), size) for size in SIZES], GOALS)


async def _outcome(folder: Path, clusters: int) -> Outcome:
    async with NatsServer(folder) as server:
        pipe, words = asyncio.subprocess.PIPE, (sys.executable, "-m", "tests.bench.crowd", server.url, str(clusters))
        process = await asyncio.create_subprocess_exec(
            *words, stdin=pipe, stdout=pipe, stderr=(folder / "log").open("wb")
        )
        await process.stdout.readline()
        before = cpu(server.pid)
        said = await process.stdout.readline()
        seconds, transitions, worked = msgspec.json.decode(said, type=tuple[float, int, float])
        used = {"the service": worked, "nats-server": cpu(server.pid) - before}
        held = await resident(process.pid)
        await process.communicate(b"\n")
    return Outcome(clusters, seconds, transitions, used, held)
