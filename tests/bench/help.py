"""How long a person waits for help: `alate --help` against the interpreter doing nothing."""

import asyncio
import sys
from pathlib import Path
from time import perf_counter

from tests.bench.figure import Figure, Goal, alternate, of_pairs

GOAL = Goal("ours", 0.3)
PAIRS = 10
ALATE = str(Path(sys.executable).with_name("alate"))


async def measure(_: Path) -> list[Figure]:
    """One figure: seconds of wall time."""
    pairs = await alternate(lambda: _seconds(ALATE, "--help"), lambda: _seconds(sys.executable, "-c", "pass"), PAIRS)
    return [of_pairs("alate --help", "s", pairs, GOAL)]


async def _seconds(*command: str) -> float:
    began = perf_counter()
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.DEVNULL)
    if await process.wait():
        raise RuntimeError(f"{' '.join(command)} failed")
    return perf_counter() - began
