"""Whoever is in the same process as the sandbox needs no sockets to speak to it."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from urllib.parse import unquote

from events.errors import TryLater
from events.kube.client import Request, Response
from services.sandbox.api.server.app import Api
from services.sandbox.api.status import bad_request
from services.sandbox.api.store.watch import Watch


class LocalTransport:
    """A client's way straight into one cluster of an `Api`; works under virtual time."""

    def __init__(self, api: Api, cluster: str, token: str = "") -> None:
        self._api = api
        self._prefix = f"/clusters/{cluster}"
        self._token = {"Authorization": f"Bearer {token}"} if token else {}
        self._closed = False

    async def send(self, request: Request) -> Response:
        """Ask once."""
        answer = await self._ask(request)
        if isinstance(answer, Watch):
            answer.close()
            return bad_request("a watch was asked for where one answer was expected").response()
        return answer

    async def stream(self, request: Request) -> AsyncIterator[bytes | Response]:
        """One line of a watch a time, until the server ends it; a `Response` is a refusal, and all there is."""
        answer = await self._ask(request)
        if isinstance(answer, Response):
            yield answer
            return
        async with aclosing(answer.batches()) as batches:
            async for lines in batches:
                for line in lines:
                    yield line

    async def close(self) -> None:
        """Nothing is held; still, nobody goes this way any more, as over HTTPS."""
        self._closed = True

    async def _ask(self, request: Request) -> Response | Watch:
        if self._closed:
            raise TryLater(f"the way to {self._prefix} was closed")
        headers = {**self._token, **request.headers}
        return await self._api.handle(replace(request, path=self._prefix + unquote(request.path), headers=headers))
