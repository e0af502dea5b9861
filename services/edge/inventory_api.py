"""Answers inventory queries over HTTP for callers with a token."""

from collections.abc import Mapping

import msgspec
from aiohttp import web

from events.bus import Bus, Unavailable
from events.errors import Denied
from services.edge.http.principals import Caller, Callers, only_own
from services.edge.http.problem import Problem, not_now
from services.edge.http.server import HttpRoute
from services.queries.answer import KINDS, SUBJECT

PATIENCE = 5.0
"""Seconds after which a client should retry."""


class InventoryApi:
    """``GET /inventory/<name>``; the query has the fields of `schemas.questions.InventoryQuery`."""

    def __init__(self, bus: Bus, callers: Callers) -> None:
        self._bus = bus
        self._callers = callers

    def routes(self) -> tuple[HttpRoute, ...]:
        """The routes for the HTTP server."""
        return (HttpRoute("GET", "/inventory/{name}", self.ask),)

    async def ask(self, request: web.Request) -> web.StreamResponse:
        """Forward a query to the inventory. Raises Problem 400, 401, 403, 404, 503."""
        caller = self._callers.by_bearer(request)
        name = request.match_info["name"]
        if name not in KINDS:
            raise Problem(404, f"the inventory answers no such question: ask for {', '.join(KINDS)}")
        asked = _of(caller, name, _query(request))
        try:
            answer = await self._bus.ask(f"{SUBJECT}{name}", msgspec.json.encode(asked))
        except Denied as no:
            raise Problem(400, str(no)) from no
        except Unavailable as away:
            raise not_now(503, "the inventory did not answer: ask again", PATIENCE) from away
        return web.Response(body=answer, content_type="application/json", headers={"Cache-Control": "no-store"})


def _query(request: web.Request) -> Mapping[str, str]:
    twice = [field for field in request.query if len(request.query.getall(field)) > 1]
    if twice:
        raise Problem(400, f"{twice[0]} is given more than once: expected one value", twice[0])
    return request.query


def _of(caller: Caller, name: str, asked: Mapping[str, str]) -> dict[str, str]:
    """The query, limited to the caller's own tenant, except on the market, which everybody may read."""
    if "tenant" not in KINDS[name].by:
        return dict(asked)
    tenant = only_own(caller, asked.get("tenant"))
    return dict(asked) if tenant is None else {**asked, "tenant": tenant}
