"""What an API server answers on bad days is put between it and those who ask."""

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field

from events.kube.client import Request, Response, Transport

Rule = Callable[[Request], Response | None]
"""An answer instead of the server's, or None."""


@dataclass
class Weather:
    """Which rule holds now, for everybody who shares it."""

    rule: Rule = lambda _: None
    refused: list[str] = field(default_factory=list)
    """What was answered instead of the server: method and path."""


@dataclass
class Between:
    """A transport with weather."""

    beyond: Transport
    weather: Weather

    async def send(self, request: Request) -> Response:
        return self._instead(request) or await self.beyond.send(request)

    async def stream(self, request: Request) -> AsyncIterator[bytes | Response]:
        instead = self._instead(request)
        if instead is not None:
            yield instead
            return
        async for line in self.beyond.stream(request):
            yield line

    async def close(self) -> None:
        await self.beyond.close()

    def _instead(self, request: Request) -> Response | None:
        instead = self.weather.rule(request)
        if instead is not None:
            self.weather.refused.append(f"{request.method} {request.path}")
        return instead


def every(number: int, refuse: Rule) -> Rule:
    """Refuse all but each `number`-th time that `refuse` would."""
    turns: Iterator[int] = iter(range(10**9))

    def rule(request: Request) -> Response | None:
        answer = refuse(request)
        return answer if answer is not None and (next(turns) + 1) % number else None

    return rule


def busy(request: Request) -> Response | None:
    """429 as API priority and fairness says it."""
    del request
    body = b'{"kind":"Status","code":429,"reason":"TooManyRequests","message":"too many requests, please try again"}'
    return Response(429, {"Retry-After": "1"}, body)


def conflicting(request: Request) -> Response | None:
    """409 on every write of a status."""
    if request.method == "GET" or not request.path.endswith("/status"):
        return None
    return Response(
        409, {}, b'{"kind":"Status","code":409,"reason":"Conflict","message":"the object has been modified"}'
    )
