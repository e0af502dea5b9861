"""A client transport that calls the API in the same process, without sockets."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from urllib.parse import unquote

from events.errors import TryLater
from events.kube.client import Request, Response
from services.sandbox.api.server.app import Api
from services.sandbox.api.status import bad_request
from services.sandbox.api.store.watch import OpenWatch


class LocalTransport:
    """A client transport to one cluster of an `Api`; works under virtual time."""

    def __init__(self, api: Api, cluster: str, token: str = "") -> None:
        self._api = api
        self._prefix = f"/clusters/{cluster}"
        self._token = {"Authorization": f"Bearer {token}"} if token else {}
        self._closed = False

    async def send(self, request: Request) -> Response:
        """Send one request."""
        answer = await self._ask(request)
        if isinstance(answer, OpenWatch):
            answer.close()
            return bad_request("a watch was asked for where one answer was expected").response()
        return answer

    async def stream(self, request: Request) -> AsyncIterator[bytes | Response]:
        """The lines of a watch, until the server ends it; a `Response` is a refusal and ends the stream."""
        answer = await self._ask(request)
        if isinstance(answer, Response):
            yield answer
            return
        async with aclosing(answer.batches()) as batches:
            async for lines in batches:
                for line in lines:
                    yield line

    async def close(self) -> None:
        """Refuse further requests, as a closed HTTPS client does."""
        self._closed = True

    async def _ask(self, request: Request) -> Response | OpenWatch:
        if self._closed:
            raise TryLater(f"the way to {self._prefix} was closed")
        headers = {**self._token, **request.headers}
        return await self._api.handle(replace(request, path=self._prefix + unquote(request.path), headers=headers))
