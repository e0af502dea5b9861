"""A running stack within the test's own process, and ways to look at it."""

from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from events.bus import Bus
from events.faults import NotFound, TryLater
from events.kinds import COLONIES
from events.kube import Kube
from schemas.subjects import Key
from services.cli.demo import leftovers
from services.cli.demo.leftovers import Objects
from services.cli.demo.play import insist
from services.cli.demo.proof import Counter, Proof
from services.cli.up import OPERATOR, running
from services.cli.where import joined, management, operator
from services.stack.folder import Folder
from services.stack.programs import Wiring
from services.stack.supervisor import Supervisor

PAUSE = 0.5


class House(NamedTuple):
    """The stack's programs, and the operator's ways in."""

    wiring: Wiring
    stack: Supervisor
    bus: Bus
    kube: Kube
    before: Objects

    async def ask(self, colony: dict) -> None:
        """Apply a Colony, however often it takes."""
        await insist(lambda: self.kube.apply(COLONIES, colony, manager="test"))

    async def go(self, name: str) -> None:
        """Delete a Colony, and wait until it is gone."""

        async def ended() -> None:
            try:
                await self.kube.delete(COLONIES, name, "default")
            except NotFound:
                return
            raise TryLater("it is still there", PAUSE)

        await insist(ended)

    async def left(self, within: float, expected: Iterable[Key] = ()) -> Proof:
        """What is left in the end; `expected` must have come and gone."""
        monitor = self.wiring.ports.monitor
        counter = Counter(self.bus, self.kube, self.wiring.management, monitor, self.before, frozenset(expected))
        return await counter.settled(within)


@asynccontextmanager
async def at_work(folder: Path) -> AsyncIterator[House]:
    """A stack in a folder, as long as the block lasts."""
    async with AsyncExitStack() as stack:
        wiring, programs = await stack.enter_async_context(running(Folder(folder), monitored=True))
        bus = await stack.enter_async_context(joined(wiring.bus, operator(wiring.key(OPERATOR)), 60.0))
        kube = await stack.enter_async_context(management(str(wiring.management)))
        yield House(wiring, programs, bus, kube, await leftovers.objects(kube))
