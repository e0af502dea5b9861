"""``python -m tests.bench.bare_apply FOLDER CLUSTERS`` applies a ConfigMap to clusters at each line that it reads."""

import asyncio
import sys
from pathlib import Path

import msgspec
import uvloop

from events.kube.auth import transport
from events.kube.client import Kube
from events.kube.resources import CONFIGMAPS
from tests.bench.addon_world import config_map

AT_ONCE = 64
"""How many clusters are written at the same time."""


async def main(folder: Path, clusters: int) -> None:
    kubes = [
        Kube(await transport(str(folder / f"c{number}-gpu.kubeconfig")), random=lambda: 0.5)
        for number in range(clusters)
    ]
    sys.stdout.write("\n")
    sys.stdout.flush()
    while line := await asyncio.to_thread(sys.stdin.readline):
        await _apply(kubes, line.strip())
    for kube in kubes:
        await kube.close()


async def _apply(kubes: list[Kube], size: str) -> None:
    left = iter(kubes)

    async def one_after_the_other() -> None:
        for kube in left:
            await kube.apply(CONFIGMAPS, msgspec.json.decode(config_map("bare", size)), manager="bare")

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(one_after_the_other())


if __name__ == "__main__":
    uvloop.run(main(Path(sys.argv[1]), int(sys.argv[2])))
