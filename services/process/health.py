"""Liveness and readiness of this process."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from services.process.http_server import listening

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Exposition = Callable[[str], tuple[bytes, str]]
"""From what a scraper accepts to all figures, and the name of their form."""

BEAT = 1.0
"""Seconds between two beats of the loop."""
STALE = 15.0
"""Seconds without a beat after which the process is to be restarted."""


def _none() -> str:
    return ""


class ProcessHealth:
    """Whether this process lives (its loop turns) and is ready (it has seen everything once, and goes on seeing it)."""

    def __init__(self, clock: Callable[[], float], *, stale: float = STALE, trouble: Callable[[], str] = _none) -> None:
        """`clock` gives monotonic seconds; `stale` is how old a heartbeat may get.

        `trouble` says in one sentence why what is heard is not all there is; empty if it is.
        """
        self.ready = False
        """True from the first complete sync on."""
        self.trouble = trouble
        self._clock = clock
        self._stale = stale
        self._beat = clock()

    @property
    def alive(self) -> bool:
        """Whether the last heartbeat is young enough."""
        return self._clock() - self._beat < self._stale

    async def beat(self) -> None:
        """Note that the loop turns, for ever. Run it in the same task group as the service."""
        while True:
            self._beat = self._clock()
            await asyncio.sleep(BEAT)


def _probe(word: str, good: Callable[[], bool], trouble: Callable[[], str] = _none) -> Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        if good() and not trouble():
            return web.Response(text=f"{word}\n")
        return web.Response(text=": ".join(filter(None, (f"not {word}", trouble()))) + "\n", status=503)

    return answer


def _text(metrics: Exposition) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        body, media = metrics(request.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": media})

    return answer


@asynccontextmanager
async def served(address: str, health: ProcessHealth, metrics: Exposition | None = None) -> AsyncGenerator[str, None]:
    """``/healthz``, ``/readyz`` and, if given, ``/metrics`` on HOST:PORT; gives the base URL (port 0: the free one).

    Raises ``Denied("AddressInUse")`` if the address cannot be had.
    """
    app = web.Application()
    app.router.add_get("/healthz", _probe("alive", lambda: health.alive))
    app.router.add_get("/readyz", _probe("ready", lambda: health.ready, health.trouble))
    if metrics is not None:
        app.router.add_get("/metrics", _text(metrics))
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    async with listening(runner, address, "ALATE_HEALTH_ADDRESS") as url:
        yield url
