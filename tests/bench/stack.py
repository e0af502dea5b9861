"""How founding grows on the whole local stack: NATS, sandbox and every service in processes of their own."""

import asyncio
from contextlib import aclosing
from pathlib import Path
from time import perf_counter

from events.bus import Bus, CaughtUp
from events.kube.client import Kube
from events.kube.resources import COLONIES
from schemas.registry import Stream
from services.cli.connection import joined, management, operator
from services.cli.up.stack import OPERATOR, running
from services.local.folder import Folder
from services.local.supervisor import Supervisor
from tests.bench.figure import Figure, Goal
from tests.bench.growth import Outcome, cpu, figures
from tests.bench.kube.founding import SPEC
from tests.bench.memory import resident

SIZES = (100, 1_000)
GOALS = {1_000: Goal("ours", 30.0)}
"""A tenth of what is wanted of ten times as many: 300 s."""
AT_ONCE = 64
"""How many Colonies are written at the same time."""
LONGEST = 3600.0
"""Seconds after which a size is given up."""
NO_DELAY = {"ALATE_SANDBOX_SPEED": "0"}


async def measure(folder: Path) -> list[Figure]:
    """Figures for each number of clusters, each on a stack of its own."""
    return figures("founded on the local stack", [await outcome(folder / str(size), size) for size in SIZES], GOALS)


async def outcome(folder: Path, clusters: int) -> Outcome:
    """From the first Colony's being written until the last cluster is Ready."""
    async with (
        running(Folder(folder), settings=NO_DELAY) as (wiring, stack),
        management(str(wiring.management)) as kube,
        joined(wiring.bus, operator(wiring.key(OPERATOR))) as bus,
    ):
        before, ears = _cpu(stack), Ears(bus, clusters)
        async with asyncio.timeout(LONGEST), asyncio.TaskGroup() as group:
            listening = group.create_task(ears.listen())
            await ears.open.wait()
            began = perf_counter()
            group.create_task(_write(kube, clusters))
            await listening
        seconds = perf_counter() - began
        worked = {name: used - before[name] for name, used in _cpu(stack).items()}
        held = sum([await resident(child.pid) for child in stack.children])
    return Outcome(clusters, seconds, ears.transitions, worked, held)


class Ears:
    """Hears every transition, until so many clusters are ready."""

    def __init__(self, bus: Bus, clusters: int) -> None:
        self._bus = bus
        self._left = clusters
        self.transitions = 0
        self.open = asyncio.Event()

    async def listen(self) -> None:
        async with aclosing(self._bus.feed(Stream.EVENTS, "cluster.>", "addon.>", "teardown.>")) as feed:
            async for stored in feed:
                if isinstance(stored, CaughtUp):
                    self.open.set()
                    continue
                self.transitions += 1
                self._left -= stored.subject.startswith("cluster.ready.")
                if not self._left:
                    return


async def _write(kube: Kube, clusters: int) -> None:
    """One cluster per Colony."""
    left = iter(range(clusters))

    async def one_after_the_other() -> None:
        for number in left:
            await kube.create(COLONIES, {"metadata": {"name": f"c{number}", "namespace": "default"}, "spec": SPEC})

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(one_after_the_other())


def _cpu(stack: Supervisor) -> dict[str, float]:
    return {child.program.name: cpu(child.pid) for child in stack.children}
