"""Founded clusters are real ones here: an API server, controllers, a scheduler, and kwok for their kubelets."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from events.kube.client import Kube
from tests.kube.plane import PARTS, ControlPlane

COMPLETES = "  name: pod-complete\nspec:\n"
PACE = f"{COMPLETES}  delay: {{durationMilliseconds: 3000}}\n"
"""A Job's pod works for three seconds, so that somebody can see it work."""


@dataclass
class RealWorld:
    """See `services.sandbox.clouds.model.world.World`."""

    folder: Path
    planes: dict[str, ControlPlane] = field(default_factory=dict)
    ever: list[ControlPlane] = field(default_factory=list)
    """Every control plane there was."""
    _kubes: dict[str, Kube] = field(default_factory=dict)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def found(self, place: str) -> str:
        """See that the API is there; gives its kubeconfig."""
        async with self._lock:  # one start at a time is enough for two cores
            if place not in self.planes:
                self.planes[place] = await asyncio.to_thread(self._start, place)
                self.ever.append(self.planes[place])
        return self.planes[place].kubeconfig.read_text()

    async def drop(self, place: str) -> None:
        """See that it is not."""
        async with self._lock:
            plane, kube = self.planes.pop(place, None), self._kubes.pop(place, None)
            if kube:  # whoever looks from now on finds no such place, and opens no other one
                await kube.close()
            if plane:
                await asyncio.to_thread(plane.__exit__)

    def kube(self, place: str) -> Kube:
        """The way into it."""
        if place not in self._kubes:
            self._kubes[place] = Kube(self.planes[place].transport(), random=lambda: 0.5)
        return self._kubes[place]

    async def close(self) -> None:
        """End what a test has left."""
        for place in tuple(self.planes):
            await self.drop(place)

    @property
    def processes(self) -> list[str]:
        """The programs still running, of any cluster there ever was."""
        return [name for plane in self.ever for name, process in plane.processes.items() if process.alive]

    def _start(self, place: str) -> Any:
        plane = ControlPlane(self.folder / f"{place}-{len(self.ever)}", *PARTS)
        paced(plane.folder / "stages.yaml")
        return plane.__enter__()


def paced(stages: Path) -> Path:
    """The same file, with pods of Jobs that can be seen at work."""
    stages.write_text(stages.read_text().replace(COMPLETES, PACE))
    return stages
