"""How soon an event reaches clusters as an applied object, against a bare loop, and what 1,000 clusters cost."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter

from services.addons.recheck import CORRECTIONS
from tests.bench.addon_world import World, world
from tests.bench.figure import Figure, Goal, quantile
from tests.bench.memory import resident

SIZES = (1, 100, 1_000)
GOALS = {1: Goal("ours", 0.1), 100: Goal("ours", 2.0), 1_000: Goal("ours", 5.0)}
"""Seconds; at one cluster the median, else the 95th percentile."""
PROFILES = 5
REST, REQUESTS = 2.0, 50
"""At rest are those of whom fewer requests came in so many seconds: no watches begin, no add-on is followed."""
WITH_RECORD = 2
"""Changes of ConfigMaps until a new add-on's object is there: its record is written before it."""
REPEATS = {1: 10, 100: 3, 1_000: 1}
"""How often each event is measured at each size."""
DRIFTS = CORRECTIONS - 1
"""More corrections than that would be a fight, which stops."""
Taken = list[float]
"""Seconds from the event until each cluster was written."""


async def measure(folder: Path) -> list[Figure]:
    """Figures for each number of clusters, each in a world of its own."""
    return [figure for size in SIZES for figure in await _figures(folder / str(size), size)]


async def _figures(folder: Path, size: int) -> list[Figure]:
    folder.mkdir()  # noqa: ASYNC240 - the kernel answers at once
    async with world(folder, size) as made:
        empty = await resident(made.pid)
        found = {"cluster ready": await _ready(made)}
        found["profile changed"] = await _repeated(REPEATS[size], lambda number: _changed(made, number))
        found["drift"] = await _repeated(min(REPEATS[size], DRIFTS), lambda number: _drifted(made, number))
        bare = await _bare(made, size)
        figures = [figure for event, taken in found.items() for figure in _of(event, size, taken, bare)]
        if size == max(SIZES):
            figures += await _at_rest(made, empty)
    return figures


def _of(event: str, size: int, taken: Taken, bare: Taken) -> list[Figure]:
    made = []
    for share in (0.5, 0.95):
        ours, reference = quantile(taken, share), quantile(bare, share)
        goal = GOALS[size] if share == (0.5 if size == 1 else 0.95) else None
        name = f"{event}, applied on {size:,}: p{100 * share:.0f}, against a bare loop"
        made.append(Figure(name, "s", ours, reference, ours / reference, goal))
    return made


async def _repeated(times: int, once: Callable[[int], Awaitable[Taken]]) -> Taken:
    return [seconds for number in range(times) for seconds in await once(number)]


async def _ready(made: World) -> Taken:
    """All clusters become ready at once, while a profile stands that selects them."""
    await made.profile("base", "0")
    began: dict[str, float] = {}

    async def announce(name: str) -> None:
        began[name] = perf_counter()
        await made.ready(name)

    await asyncio.gather(*map(announce, made.names))
    written = await made.until(WITH_RECORD, made.names)
    return [written[name] - began[name] for name in made.names]


async def _changed(made: World, number: int) -> Taken:
    await _quiet(made)
    began = perf_counter()
    await made.profile("base", f"v{number}")
    return [at - began for at in (await made.until(1, made.names)).values()]


async def _drifted(made: World, number: int) -> Taken:
    """Somebody changes the object of every cluster; the second change is the correction."""
    await _quiet(made)
    began = {}
    for name in made.names:
        began[name] = perf_counter()
        await made.drift(name, "one", f"drift-{number}")
    written = await made.until(2, made.names)
    return [written[name] - began[name] for name in made.names]


async def _quiet(made: World) -> None:
    """Wait until next to nothing is asked for any more, then count from none again."""
    before = -REQUESTS
    while before + REQUESTS <= made.api.requests:
        before = made.api.requests
        await asyncio.sleep(REST)
    made.changes.clear()


async def _bare(made: World, size: int) -> Taken:
    async with _loop(made, size) as apply:
        taken: Taken = []
        for number in range(REPEATS[size] + 1):
            await _quiet(made)
            began = perf_counter()
            await apply(f"b{number}")
            taken += [at - began for at in (await made.until(1, made.names)).values()] if number else []
            if not number:
                await made.until(1, made.names)  # the first opens the connections, as ours has them open
    return taken


@asynccontextmanager
async def _loop(made: World, size: int) -> AsyncIterator[Callable[[str], Awaitable[None]]]:
    pipe, words = asyncio.subprocess.PIPE, (sys.executable, "-m", "tests.bench.bare_apply", str(made.folder), str(size))
    process = await asyncio.create_subprocess_exec(*words, stdin=pipe, stdout=pipe)
    await process.stdout.readline()

    async def apply(value: str) -> None:
        process.stdin.write(f"{value}\n".encode())
        await process.stdin.drain()

    yield apply
    process.stdin.close()
    await process.wait()


async def _at_rest(made: World, empty: float) -> list[Figure]:
    """With five profiles: memory of the service, and what a restart of it writes to clusters."""
    for number in range(1, PROFILES):
        await made.profile(f"more-{number}", "0", name=f"more-{number}")
    await made.until(WITH_RECORD * (PROFILES - 1), made.names)
    await _quiet(made)
    held = await resident(made.pid)
    await made.stop()
    before = made.api.writes
    began = perf_counter()
    await made.start()
    seconds = perf_counter() - began
    await asyncio.sleep(REST)
    await _quiet(made)
    await asyncio.sleep(60)
    writes = made.api.writes - before
    size = len(made.names)
    what = f"{size:,} clusters x {PROFILES} add-ons"
    return [
        Figure(f"memory of the add-on service with {what}, against it without any", "MiB", held, empty, held / empty),
        Figure(f"writes of a restart with {what}, against those of the first time", "writes", writes, size * PROFILES,
               writes / (size * PROFILES), Goal("ours", 0.0)),
        Figure("restart until ready, against a minute", "s", seconds, 60.0, seconds / 60.0),
    ]  # fmt: skip
