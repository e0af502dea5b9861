"""The way to an API server, on which calls are refused, hang, or come to nothing before or after they took effect."""

import asyncio
from dataclasses import dataclass, replace
from random import Random

import msgspec

from events.errors import TryLater
from events.kube.client import Object, Request, Response
from services.sandbox.api.server.app import Api
from services.sandbox.api.server.local import LocalTransport
from services.sandbox.api.status import StatusError
from tests.services.crash.conftest import Life

NEVER = 1e12
"""Seconds until what does not come in a history."""
TIMEOUT = 30.0
"""Seconds after which a call that is not answered is given up, as over HTTPS."""
GRACE = "test.alate.dev/grace"
"""The annotation, and the finalizer, of what does not go at once: after so many seconds."""


@dataclass
class Way:
    """How an API server is to all who call it."""

    dice: Random
    dead_until: float = 0.0
    """Nobody is answered before, its own controllers as little as we."""
    hangs: bool = False
    """While it is dead, calls are taken and not answered; else the connection is refused."""
    flaky_until: float = 0.0
    """A third of all calls comes to nothing before, half of those after they took effect."""
    guarded: tuple[str, ...] = ()
    """Plurals of what an admission webhook lets nobody delete."""
    guarded_until: float = 0.0
    key: int = 0
    """The one that opens it now."""

    @property
    def dead(self) -> bool:
        return _now() < self.dead_until

    def flaky(self) -> bool:
        return _now() < self.flaky_until and self.dice.randrange(3) == 0

    def guards(self, request: Request) -> bool:
        named = request.method == "DELETE" and not {*request.path.split("/")}.isdisjoint(self.guarded)
        return named and _now() < self.guarded_until


class Road(LocalTransport):
    """The way as one process takes it, with the key that it has."""

    def __init__(self, api: Api, place: str, way: Way, life: Life, key: int = 0) -> None:
        super().__init__(api, place)
        self._way, self._life, self._key = way, life, key

    async def send(self, request: Request) -> Response:
        return await self._life.call(lambda: self._met(request))

    async def _met(self, request: Request) -> Response:
        way = self._way
        if way.dead:
            await asyncio.sleep(TIMEOUT if way.hangs else 0.0)
            raise TryLater("the API server cannot be reached")
        if self._key != way.key:
            return StatusError(401, "Unauthorized", "Unauthorized", {}).response()
        if way.guards(request):
            return StatusError(
                403, "Forbidden", "admission webhook guard.example.org denied the request", {}
            ).response()
        lost = way.flaky()
        if lost and way.dice.randrange(2):
            raise TryLater("the connection broke before it was sent")
        answer = await super().send(request)
        if lost:
            raise TryLater("the connection broke before it was answered")
        return answer


class Own(LocalTransport):
    """The way of a cluster's own controllers, who make pods that are held as their templates say."""

    def __init__(self, api: Api, place: str, way: Way) -> None:
        super().__init__(api, place)
        self._way = way

    async def send(self, request: Request) -> Response:
        if self._way.dead:
            raise TryLater("the API server is down", self._way.dead_until - _now())
        if request.method == "POST" and request.path.endswith("/pods"):
            made = msgspec.json.decode(request.body)
            request = replace(request, body=msgspec.json.encode(held(made)))
        return await super().send(request)


def held(made: Object) -> Object:
    """The object, with the finalizer that its annotation asks for."""
    if GRACE not in made["metadata"].get("annotations", {}):
        return made
    return made | {"metadata": made["metadata"] | {"finalizers": [GRACE]}}


def _now() -> float:
    return asyncio.get_running_loop().time()
