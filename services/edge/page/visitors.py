"""Who may view the page, and who may change things there: by session cookie or bearer token, never cross-site."""

from collections.abc import Callable
from datetime import datetime
from ipaddress import ip_address
from urllib.parse import urlsplit

import msgspec
from aiohttp import web

from schemas.registry import UNREADABLE
from services.edge.http.principals import BEARER, Caller, Callers
from services.edge.http.problem import Problem, unauthorized
from services.edge.http.server import HttpRoute, body_of
from services.edge.page.session import COOKIE, LIFETIME, issue

PATH = "/session"
LARGEST, SLOWEST = 4096, 2.0
"""Bytes of a sign-in request, and seconds within which it must arrive: anybody may send one."""


class _Credentials(msgspec.Struct, forbid_unknown_fields=True):
    token: str


class Visitors:
    """Sessions, and the two rights: to view, and to change."""

    def __init__(self, callers: Callers, *, clock: Callable[[], datetime], is_open: bool) -> None:
        """With `is_open` everybody may view the page."""
        self._callers = callers
        self._clock = clock
        self._open = is_open

    def routes(self) -> tuple[HttpRoute, ...]:
        """The routes for the HTTP server."""
        return (
            HttpRoute("GET", PATH, self.show),
            HttpRoute("POST", PATH, self.sign_in),
            HttpRoute("DELETE", PATH, self.sign_out),
        )

    async def show(self, request: web.Request) -> web.StreamResponse:
        """Who is signed in, if anybody is, and whether the page may be viewed."""
        caller = self._known(request)
        return self._session(caller.name if caller else "", caller is not None or self._is_open_to(request))

    async def sign_in(self, request: web.Request) -> web.StreamResponse:
        """Sign in with an operator's token. Raises Problem 401, 403, 422."""
        _same_site(request)
        try:
            token = msgspec.json.decode(await body_of(request, LARGEST, SLOWEST), type=_Credentials).token
        except UNREADABLE as wrong:
            raise Problem(422, 'the body is not understood: expected {"token": "…"}', "body") from wrong
        caller = self._callers.by_token(token)
        if caller is None or not caller.operates:
            raise unauthorized("the token is no operator's", "token", BEARER)
        response = self._session(caller.name, may_view=True)
        cookie = issue(caller.name, token.encode(), self._clock())
        secure = request.headers.get("Origin", "").startswith("https:")
        age = int(LIFETIME.total_seconds())
        response.set_cookie(COOKIE, cookie, max_age=age, httponly=True, samesite="Strict", secure=secure, path="/")
        return response

    async def sign_out(self, request: web.Request) -> web.StreamResponse:
        """Sign out. Raises Problem 403."""
        _same_site(request)
        response = self._session("", self._is_open_to(request))
        response.del_cookie(COOKIE, path="/")
        return response

    def _session(self, name: str, may_view: bool) -> web.Response:  # noqa: FBT001 - a field of the answer
        return json_response({"name": name, "mayView": may_view, "now": self._clock()})

    def check_view(self, request: web.Request) -> None:
        """Raises Problem 401, 403 for a caller who may not view the page."""
        if self._known(request) is None and not self._is_open_to(request):
            self._operator(request)

    def check_change(self, request: web.Request) -> Caller:
        """The operator who changes something. Raises Problem 401, 403."""
        if (caller := self._known(request)) is not None:
            _same_site(request)
            return caller
        return self._operator(request)

    def _operator(self, request: web.Request) -> Caller:
        caller = self._callers.by_bearer(request)
        if not caller.operates:
            raise Problem(403, "this token reads what is of one tenant: expected an operator's")
        return caller

    def _known(self, request: web.Request) -> Caller | None:
        caller = self._callers.by_session(request.cookies.get(COOKIE, ""), self._clock())
        return caller if caller and caller.operates else None

    def _is_open_to(self, request: web.Request) -> bool:
        """Whether everybody may view; not by a foreign name whose DNS points at us, whose page could read ours."""
        host = urlsplit(f"//{request.host}").hostname or ""
        return self._open and (host == "localhost" or _is_address(host))


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _same_site(request: web.Request) -> None:
    """Raises Problem 403 unless the browser names this page as the origin of the request."""
    if urlsplit(request.headers.get("Origin", "")).netloc != request.host:
        raise Problem(403, "Origin must be this page's own", "Origin")


def json_response(document: object) -> web.Response:
    """JSON that no cache may store."""
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    return web.Response(body=msgspec.json.encode(document), content_type="application/json", headers=headers)
