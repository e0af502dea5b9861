"""The page's own files, read once; they load nothing from anywhere else and run nothing that is not theirs."""

from pathlib import Path

from aiohttp import web

from services.edge.http.problem import Problem
from services.edge.http.server import Route

HERE = Path(__file__).parent / "static"
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
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
FIRST = "index.html"


class Files:
    """What is in the folder."""

    def __init__(self) -> None:
        self._files = {file.name: (file.read_bytes(), TYPES[file.suffix]) for file in HERE.iterdir()}

    def routes(self) -> tuple[Route, ...]:
        """For the door."""
        return (Route("GET", "/", self.first), Route("GET", "/page/{file}", self.give))

    async def first(self, _: web.Request) -> web.StreamResponse:
        """The page."""
        return self._of(FIRST)

    async def give(self, request: web.Request) -> web.StreamResponse:
        """What the page is made of. Raises Problem 404."""
        return self._of(request.match_info["file"])

    def _of(self, name: str) -> web.StreamResponse:
        if name not in self._files:
            raise Problem(404, "the page has no such file")
        body, media = self._files[name]
        return web.Response(body=body, content_type=media, charset="utf-8", headers=HEADERS)
