"""A process that asks a hostile API server, and tells by how much its memory grew: run by test_kube_memory.py."""

import asyncio
import json
import resource
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from events.errors import Fault
from events.kube.client import Kube, Request
from events.kube.http import Access, ApiCredentials, HttpTransport
from events.kube.limits import FOUNDED
from events.kube.resources import PODS

WATCH = Request("GET", PODS.path(), {"watch": "true", "resourceVersion": "1"})
MIB = 1 << 20


async def _watched(kube: Kube) -> None:
    async for _ in kube.transport.stream(WATCH):
        pass


async def _listed(kube: Kube) -> None:
    await kube.list(PODS)


WAYS: dict[str, Callable[[Kube], Awaitable[None]]] = {"list": _listed, "watch": _watched}


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def main(url: str, way: str, tries: int) -> None:
    """Ask so often; print what each was refused with, and the MiB that the peak of the memory grew by."""

    async def load() -> Access:
        return Access(url)

    transport = HttpTransport(ApiCredentials(load, lambda: datetime.now(UTC)), bounds=FOUNDED)
    kube = Kube(transport, random=lambda: 0.5, bounds=FOUNDED)
    before, told = _peak(), []
    for _ in range(tries):
        try:
            await WAYS[way](kube)
        except Fault as fault:
            told.append(f"{type(fault).__name__}: {fault}")
    await kube.close()
    sys.stdout.write(json.dumps({"told": told, "grew": _peak() - before}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
