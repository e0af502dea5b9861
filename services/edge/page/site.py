"""Everything behind the page is put together here: what is shown, to whom, and what can be done."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime

import structlog
from aiohttp import web

from events.bus import Bus, Unavailable
from events.jetstream.permissions import Role
from services.edge.http.problem import Problem, not_now
from services.edge.http.server import Route
from services.edge.page.brief import lanes
from services.edge.page.files import Files
from services.edge.page.fleet import Fleet
from services.edge.page.following import Following
from services.edge.page.graph import graph
from services.edge.page.live import Live
from services.edge.page.visitors import Visitors, said
from services.errors import BadInput, Failed
from services.eventlog.dead_letters import chosen, grouped
from services.eventlog.history import history
from services.eventlog.redrive import again, check, letters

Shows = Callable[[web.Request], Awaitable[web.StreamResponse]]

log = structlog.get_logger()


class Site:
    """The page and what it asks for."""

    def __init__(
        self,
        bus: Bus,
        visitors: Visitors,
        roles: Iterable[Role],
        *,
        clock: Callable[[], datetime],
        jitter: Callable[[], float],
    ) -> None:
        self._bus = bus
        self._visitors = visitors
        self._roles = tuple(roles)
        self._clock = clock
        self._following = Following(bus, clock=clock, jitter=jitter)
        self._live = Live(self._following)
        self._fleet = Fleet(bus)
        self._files = Files()

    def routes(self) -> tuple[Route, ...]:
        """For the door."""
        shown = {
            "/fleet": self.fleet,
            "/lanes": self.lanes,
            "/graph": self.graph,
            "/clusters/{tenant}/{name}": self.life,
            "/letters": self.letters,
        }
        return (
            *self._files.routes(),
            *self._visitors.routes(),
            *(Route("GET", path, self._looked(show)) for path, show in shown.items()),
            Route("GET", "/live", self._looked(self._live.stream), lasts=True),
            Route("POST", "/letters/{which}/redrive", self.redrive),
        )

    async def run(self) -> None:
        """Follow what is said until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._fleet.run())
            group.create_task(self._following.run())

    def _looked(self, show: Shows) -> Shows:
        async def looked(request: web.Request) -> web.StreamResponse:
            self._visitors.look(request)
            try:
                return await show(request)
            except Unavailable as away:
                raise not_now(503, "the bus is away: ask again", 5.0) from away

        return looked

    async def fleet(self, _: web.Request) -> web.StreamResponse:
        """Every cluster that is not gone. Raises Problem 503 while not all are known."""
        if not self._fleet.ready.is_set():
            raise not_now(503, "the fleet is being read: ask again", 1.0)
        return said(self._fleet.snapshot())

    async def lanes(self, _: web.Request) -> web.StreamResponse:
        """What can be said, and by whom."""
        return said(lanes())

    async def graph(self, _: web.Request) -> web.StreamResponse:
        """Who talks to whom, with messages a second."""
        await self._following.look_back()
        return said(graph(self._roles, lanes(), self._following.rates.per_second(self._clock())))

    async def life(self, request: web.Request) -> web.StreamResponse:
        """A cluster's life. Raises Problem 404."""
        try:
            turns = await history(self._bus, request.match_info["tenant"], request.match_info["name"])
        except Failed as none:
            raise Problem(404, "no such cluster has a history") from none
        return said({"items": [turn.item() for turn in turns]})

    async def letters(self, _: web.Request) -> web.StreamResponse:
        """Dead letters by cause, the newest first."""
        return said({"items": grouped(await letters(self._bus))[::-1]})

    async def redrive(self, request: web.Request) -> web.StreamResponse:
        """Tell the letters of a number or a fingerprint once more. Raises Problem 401, 403, 404, 409, 503."""
        caller, which = self._visitors.act(request), request.match_info["which"]
        try:
            found = chosen(await letters(self._bus), which)
            await check(self._bus, found)
            for letter in found:
                await again(self._bus, letter)
        except BadInput as none:
            raise Problem(404, "no dead letter is so called: it may have been redriven already") from none
        except Failed as cannot:
            raise Problem(409, str(cannot)) from cannot
        except Unavailable as away:
            raise not_now(503, "the bus is away: not all may have been redriven, do it again", 5.0) from away
        log.info("letters.redriven", by=caller.name, which=which, count=len(found))
        return said({"redriven": len(found)})
