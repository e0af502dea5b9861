"""The HTTP routes of the page: what it shows, to whom, and what operators may change."""

import asyncio
from collections.abc import Iterable

import msgspec
import structlog
from aiohttp import web

from events.bus import Unavailable
from events.jetstream.permissions import Role
from events.kube.client import Kube
from schemas.registry import UNREADABLE
from services.edge.http.problem import Problem, not_now
from services.edge.http.server import HttpHandler, HttpRoute, body_of
from services.edge.page.cluster import cluster_page
from services.edge.page.colonies import ActionOptions, Colonies
from services.edge.page.files import Files
from services.edge.page.follower import Fleet, Follower
from services.edge.page.graph import graph
from services.edge.page.live import Live
from services.edge.page.summary import subject_groups
from services.edge.page.visitors import LARGEST, SLOWEST, Visitors, json_response
from services.errors import BadInput, Failed
from services.eventlog.dead_letters import chosen, grouped
from services.eventlog.redrive import again, check, letters
from services.runtime.context import Context

log = structlog.get_logger()


class Site:
    """The page and what it requests."""

    def __init__(self, context: Context, kube: Kube, visitors: Visitors, roles: Iterable[Role]) -> None:
        self._bus = context.bus
        self._visitors = visitors
        self._roles = tuple(roles)
        self._clock = context.clock
        self._colonies = Colonies(kube, context.clock)
        self._follower = Follower(context)
        self._fleet = Fleet(context.bus, context.meters, self._follower.notify)
        self._live = Live(self._follower, self._fleet)
        self._files = Files()

    def routes(self) -> tuple[HttpRoute, ...]:
        """The routes for the HTTP server."""
        shown = {
            "/fleet": self.fleet,
            "/subjects": self.subjects,
            "/graph": self.graph,
            "/clusters/{tenant}/{name}": self.cluster,
            "/letters": self.letters,
        }
        return (
            *self._files.routes(),
            *self._visitors.routes(),
            *(HttpRoute("GET", path, self._viewable(handler)) for path, handler in shown.items()),
            HttpRoute("GET", "/live", self._viewable(self._live.stream), lasts=True),
            HttpRoute("POST", "/letters/{which}/redrive", self.redrive),
            HttpRoute("POST", "/colonies/{tenant}/{colony}/{cluster}/{action}", self.act),
            HttpRoute("DELETE", "/colonies/{tenant}/{colony}", self.delete),
        )

    async def run(self) -> None:
        """Follow the streams until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._fleet.run())
            group.create_task(self._follower.run())

    def _viewable(self, handler: HttpHandler) -> HttpHandler:
        async def checked(request: web.Request) -> web.StreamResponse:
            self._visitors.check_view(request)
            try:
                return await handler(request)
            except Unavailable as away:
                raise not_now(503, "the bus is away: ask again", 5.0) from away

        return checked

    async def fleet(self, _: web.Request) -> web.StreamResponse:
        """Every cluster that is not released. Raises Problem 503 while not all are known."""
        if not self._fleet.ready.is_set():
            raise not_now(503, "the fleet is being read: ask again", 1.0)
        return json_response(self._fleet.since(0))

    async def subjects(self, _: web.Request) -> web.StreamResponse:
        """What can be published, and by which service."""
        return json_response(subject_groups())

    async def graph(self, _: web.Request) -> web.StreamResponse:
        """Which service publishes and consumes what, with messages a second."""
        await self._follower.catch_up()
        return json_response(graph(self._roles, subject_groups(), self._follower.rates.per_second(self._clock())))

    async def cluster(self, request: web.Request) -> web.StreamResponse:
        """The history of a cluster, its nodes, and what its Colony shows of it. Raises Problem 404."""
        try:
            return json_response(await cluster_page(self._bus, self._colonies, *_names(request, "tenant", "name")))
        except Failed as none:
            raise Problem(404, "no such cluster has a history") from none

    async def act(self, request: web.Request) -> web.StreamResponse:
        """Extend, scale, hibernate, wake or recreate a cluster. Raises Problem 401, 403, 404, 409, 422, 503."""
        caller = self._visitors.check_change(request)
        tenant, colony, cluster, action = _names(request, "tenant", "colony", "cluster", "action")
        changed = await self._colonies.change(tenant, colony, cluster, action, await _options(request))
        log.info("colony.changed", by=caller.name, tenant=tenant, colony=colony, cluster=cluster, action=action)
        return json_response({"changed": changed})

    async def delete(self, request: web.Request) -> web.StreamResponse:
        """Delete a Colony with all of its clusters. Raises Problem 401, 403, 404, 409, 503."""
        caller, (tenant, colony) = self._visitors.check_change(request), _names(request, "tenant", "colony")
        force = request.query.get("force") == "true"
        await self._colonies.delete(tenant, colony, force=force)
        log.info("colony.deleted", by=caller.name, tenant=tenant, colony=colony, force=force)
        return json_response({})

    async def letters(self, _: web.Request) -> web.StreamResponse:
        """Dead letters by cause, the newest first."""
        return json_response({"items": grouped(await letters(self._bus))[::-1]})

    async def redrive(self, request: web.Request) -> web.StreamResponse:
        """Redeliver the dead letters of a number or a fingerprint. Raises Problem 401, 403, 404, 409, 503."""
        caller, which = self._visitors.check_change(request), request.match_info["which"]
        try:
            found = chosen(await letters(self._bus), which)
            await check(self._bus, found)
            for letter in found:
                await again(self._bus, letter)
        except BadInput as none:
            raise Problem(404, "there is no such dead letter: it may have been redelivered already") from none
        except Failed as cannot:
            raise Problem(409, str(cannot)) from cannot
        except Unavailable as away:
            raise not_now(503, "the bus is away: some may not have been redelivered: do it again", 5.0) from away
        log.info("letters.redriven", by=caller.name, which=which, count=len(found))
        return json_response({"redriven": len(found)})


def _names(request: web.Request, *names: str) -> tuple[str, ...]:
    return tuple(request.match_info[name] for name in names)


async def _options(request: web.Request) -> ActionOptions:
    """The body of an action. Raises Problem 422."""
    body = await body_of(request, LARGEST, SLOWEST)
    try:
        return msgspec.json.decode(body or b"{}", type=ActionOptions)
    except UNREADABLE as wrong:
        raise Problem(422, f"the body is not understood: {wrong}", "body") from wrong
