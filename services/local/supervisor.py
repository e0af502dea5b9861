"""Starts the stack in stages, keeps it running, and stops it in reverse order."""

import asyncio
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from services.local.child import Child, Phase
from services.local.parent_death import Keeper
from services.local.program import Program

READY = 60.0
"""Seconds a stage may take until all of it answers."""


def _unheard(_: Child) -> None:
    """Nobody listens."""


class Supervisor:
    """Runs programs in stages: ``async with Supervisor(stages) as stack``; raises NotStarted on entering."""

    def __init__(self, stages: Sequence[Sequence[Program]], changed: Callable[[Child], None] = _unheard) -> None:
        """`changed` is called for every child whose phase or process changes."""
        self._keeper = Keeper()
        self._heard = changed
        self._stages = tuple(tuple(Child(program, self._note) for program in stage) for stage in stages)

    @property
    def children(self) -> tuple[Child, ...]:
        """Every process, in the order they are started."""
        return tuple(child for stage in self._stages for child in stage)

    def child(self, name: str) -> Child:
        """One process by its program's name; KeyError if there is none."""
        return {child.program.name: child for child in self.children}[name]

    async def start(self) -> None:
        """Start stage by stage. Raises NotStarted; then what was started still has to be stopped."""
        for stage in self._stages:
            for child in stage:
                child.start()
            await asyncio.gather(*(child.until_ready(READY) for child in stage))

    async def until_ready(self) -> None:
        """Wait until everything answers; raises NotStarted."""
        await asyncio.gather(*(child.until_ready(READY) for child in self.children))

    async def stop(self) -> None:
        """End stage by stage, the last one first."""
        for stage in reversed(self._stages):
            await asyncio.gather(*(child.stop() for child in stage if child.phase is not Phase.STOPPED))
        self._keeper.close()

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def _note(self, child: Child) -> None:
        self._keeper.hold(each.pid for each in self.children if each.pid is not None)
        self._heard(child)
