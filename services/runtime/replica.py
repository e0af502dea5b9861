"""One replica of a service: beside its entry among the members, and standing by where only one may work."""

import asyncio
from collections.abc import Callable
from typing import Protocol

import structlog

from services.runtime.members import ServiceMembers
from services.runtime.share import Share

log = structlog.get_logger()


class Running(Protocol):
    """A service, put together."""

    @property
    def ready(self) -> asyncio.Event:
        """Set once it has seen everything."""
        ...

    async def run(self) -> None:
        """Run until cancelled."""
        ...


class Standby:
    """A service that works in one replica at a time; the others stand by, and one of them takes over when it is gone.

    For a service whose decisions look at many clusters together, as a rollout's do.
    """

    def __init__(self, name: str, share: Share, make: Callable[[], Running]) -> None:
        """`make` puts the service together; it is called each time this replica begins to work."""
        self.ready = asyncio.Event()
        self._name = name
        self._share = share
        self._make = make
        self._moved = asyncio.Event()

    async def run(self) -> None:
        """Work while the service is this replica's; ready at once while it is not."""
        self._share.listen(lambda _: self._moved.set())
        async with asyncio.TaskGroup() as group:
            while True:
                if self._share.mine(self._name):
                    await self._work(group)
                else:
                    log.info("service.stands_by", service=self._name)
                    self.ready.set()
                    await self._until(mine=True)

    async def _work(self, group: asyncio.TaskGroup) -> None:
        running = self._make()
        task = group.create_task(running.run())
        await running.ready.wait()
        self.ready.set()
        await self._until(mine=False)
        task.cancel()
        await asyncio.wait((task,))

    async def _until(self, *, mine: bool) -> None:
        while self._share.mine(self._name) != mine:
            await self._moved.wait()
            self._moved.clear()


class WithMembers:
    """A service beside the entry of its replica among the members."""

    def __init__(self, members: ServiceMembers, running: Running) -> None:
        self._members = members
        self._running = running

    @property
    def ready(self) -> asyncio.Event:
        """See `Running`."""
        return self._running.ready

    async def run(self) -> None:
        """Work once the other members are known; leave them only when the work has ended."""
        async with asyncio.TaskGroup() as group:
            members = group.create_task(self._members.run())
            await self._members.ready.wait()
            try:
                await self._running.run()
            finally:
                members.cancel()
