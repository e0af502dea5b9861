"""The static files of the page, with headers that keep a browser from loading anything from elsewhere."""

from pathlib import Path

from aiohttp import web

from services.edge.http.problem import Problem
from services.edge.http.server import HttpRoute

HERE = Path(__file__).parent / "static"
TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
INDEX = "index.html"


class Files:
    """Every file below the folder, read once."""

    def __init__(self) -> None:
        self._files = {file.name: (file.read_bytes(), TYPES[file.suffix]) for file in HERE.rglob("*.*")}

    def routes(self) -> tuple[HttpRoute, ...]:
        """The routes for the HTTP server."""
        return (HttpRoute("GET", "/", self.index), HttpRoute("GET", "/page/{file}", self.serve))

    async def index(self, _: web.Request) -> web.StreamResponse:
        """The page."""
        return self._response(INDEX)

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """One file. Raises Problem 404."""
        return self._response(request.match_info["file"])

    def _response(self, name: str) -> web.StreamResponse:
        if name not in self._files:
            raise Problem(404, "the page has no such file")
        body, media = self._files[name]
        return web.Response(body=body, content_type=media, charset="utf-8", headers=HEADERS)
