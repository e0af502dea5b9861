"""How much memory the local stack holds at rest, process by process, against a process that is only connected."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from events.kube.client import Changed, Kube, Object
from events.kube.resources import COLONIES
from services.cli.connection import management
from services.cli.request.colony import from_file
from services.cli.up.stack import running
from services.local.folder import Folder
from services.local.probe import http
from services.local.programs import SERVICES
from services.local.supervisor import Supervisor
from tests.bench.figure import Figure, Goal

GOAL = Goal("ours", 80.0)
COLONY = Path(__file__).parents[2] / "deploy" / "colony.yaml"
FOUNDED = 60.0
"""Seconds in which the cluster must be ready, with its add-ons."""
REST = 5.0
"""Seconds the stack is left alone before it is looked at."""
CONNECTED = """
import sys, nats, uvloop
async def wait():
    client = await nats.connect(sys.argv[1], nkeys_seed=sys.argv[2])
    print("up", flush=True)
    await __import__("asyncio").to_thread(sys.stdin.read)
    await client.close()
uvloop.run(wait())
"""


async def measure(folder: Path) -> list[Figure]:
    """One figure per service, one for the whole stack: MiB resident."""
    async with running(Folder(folder / "stack")) as (wiring, stack):
        async with management(str(wiring.management)) as kube:
            await _found(kube)
        await asyncio.sleep(REST)
        async with _connected(wiring.bus, wiring.key("operator")) as pid:
            bare = await resident(pid)
        await stack.until_ready()
        used = await _used(stack)
        for port in wiring.ports.health:
            await http(port, "/metrics")()
        scraped = await _used(stack)
    figures = [_figure(f"memory of {name}", used[name], bare, GOAL) for name in SERVICES]
    largest = max(scraped[name] for name in SERVICES)
    figures.append(_figure("memory of the largest, once Prometheus has asked", largest, bare))
    return [*figures, _figure(f"memory of all {len(used)} processes", sum(used.values()), bare)]


async def _used(stack: Supervisor) -> dict[str, float]:
    return {child.program.name: await resident(child.pid) for child in stack.children if child.pid}


def _figure(name: str, used: float, bare: float, goal: Goal | None = None) -> Figure:
    return Figure(name, "MiB", used, bare, used / bare, goal)


async def _found(kube: Kube) -> None:
    """One cluster, with its add-ons, that stays."""
    (colony,) = from_file(COLONY, None)
    for cluster in colony["spec"]["clusters"]:
        for limit in ("timeToLive", "idleAfter", "warnBefore"):
            cluster.pop(limit, None)
    await kube.apply(COLONIES, colony, manager="bench")
    async with asyncio.timeout(FOUNDED):
        async for sight in kube.watch(COLONIES):
            if isinstance(sight, Changed) and _settled(sight.object):
                return


def _settled(colony: Object) -> bool:
    held = {c["type"] for c in colony.get("status", {}).get("conditions", ()) if c["status"] == "True"}
    return {"Ready", "AddonsApplied"} <= held


@asynccontextmanager
async def _connected(url: str, key: Path | None) -> AsyncIterator[int]:
    """A Python process with uvloop and a nats-py connection that does nothing; gives its id."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CONNECTED, url, str(key), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    try:
        await process.stdout.readline()
        yield process.pid
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.communicate()


async def resident(pid: int) -> float:
    """Resident memory in MiB; shared libraries count in every process."""
    status = Path(f"/proc/{pid}/status")
    if status.exists():  # noqa: ASYNC240 - the kernel answers at once
        return int(status.read_text().split("VmRSS:")[1].split()[0]) / 1024  # noqa: ASYNC240 - same
    ps = await asyncio.create_subprocess_exec("ps", "-o", "rss=", "-p", str(pid), stdout=asyncio.subprocess.PIPE)
    said, _ = await ps.communicate()
    return int(said) / 1024
