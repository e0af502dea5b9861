"""The two servers a conversation is held with: the sandbox, in process or over HTTPS, and the real one."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

from events.kube.client import Transport
from events.kube.http import Access, ApiCredentials, HttpTransport
from events.kube.impersonation import Impersonating, account_user
from services.sandbox.api.server.app import Api
from services.sandbox.api.server.http import Server
from services.sandbox.api.server.local import LocalTransport
from services.sandbox.api.server.tls import self_signed
from services.sandbox.api.store.journal import MemoryJournal
from tests.contracts.api.asking import ask, until
from tests.contracts.api.kinds import KINDS
from tests.contracts.api.talk import CONFIGMAPS, CRDS, MERGE, configmap
from tests.kube.plane import ControlPlane

USERS = ("admin", "stranger", "nobody", "impostor", "account", "impersonator")
ACCOUNT = account_user("kube-system", "talker")
WINDOW = 80
"""Changes the sandbox remembers here: more than any conversation makes, few enough to be pushed out."""
_names = count(1)


@dataclass(frozen=True)
class Side:
    """One server: a way in for every user, and how to make it forget old versions."""

    name: str
    ways: Mapping[str, Transport]
    compact: Callable[[], Awaitable[None]]
    url: str = ""
    """Where it listens, if it does."""


def fresh() -> str:
    """A namespace's name that no conversation of this process has had."""
    return f"t{next(_names)}"


@asynccontextmanager
async def sandbox(api: Api, *, folder: Path | None = None) -> AsyncIterator[Side]:
    """A sandbox that serves the kinds; with a folder (for its key) over HTTPS."""
    api.tokens["management"] = "open"
    await api.start()
    server = None
    ways: Mapping[str, Transport]
    try:
        if folder is None:
            ways = {user: LocalTransport(api, "management", token) for user, token in _TOKENS.items()}
        else:
            server, ways = await _serve(api, folder)
        await _define(ways["admin"])
        ways = {**ways, "account": Impersonating(ways["admin"], ACCOUNT)}
        async with closing(ways) if server else nullcontext():  # in process there are no sockets
            yield Side("sandbox", ways, lambda: _push_out(ways["admin"]), server.url if server else "")
    finally:
        await api.close()
        if server:
            await server.stop()


_TOKENS = {"admin": "open", "nobody": "", "impostor": "wrong"}


def api_of_its_own() -> Api:
    """A sandbox API in memory, at the true time."""
    return Api(MemoryJournal(), lambda: datetime.now(UTC), lambda: str(uuid4()), window=WINDOW)


@asynccontextmanager
async def real(plane: ControlPlane) -> AsyncIterator[Side]:
    """The real server, whose kinds are there already."""
    tokens = {"admin": plane.token, "stranger": plane.stranger, "nobody": "", "impostor": "wrong"}
    ways: dict[str, Transport] = {user: plane.transport(token) for user, token in tokens.items()}
    ways["account"] = Impersonating(ways["admin"], ACCOUNT)
    ways["impersonator"] = Impersonating(ways["stranger"], ACCOUNT)

    async def compact() -> None:
        plane.compact()

    async with closing(ways):
        yield Side("real", ways, compact, plane.url)


@asynccontextmanager
async def closing(ways: Mapping[str, Transport]) -> AsyncIterator[None]:
    """Close every way in, and wait until no socket is left: TLS says goodbye after `close` has returned."""
    loop: Any = asyncio.get_running_loop()
    sockets = loop._selector.get_map()
    before = len(sockets)
    try:
        yield
    finally:
        for way in ways.values():
            await way.close()
        async with asyncio.timeout(10):
            while len(sockets) > before:  # noqa: ASYNC110 - the loop tells nobody
                await asyncio.sleep(0.002)


async def define(plane: ControlPlane) -> None:
    """Make the kinds known to a real server, and wait until it serves them."""
    way = plane.transport()
    try:
        await _define(way)
    finally:
        await way.close()


async def _define(way: Transport) -> None:
    for kind in KINDS:
        answer = await ask(way, "POST", CRDS, kind)
        assert answer.status in (201, 409), answer.body
    for kind in KINDS:
        spec = kind["spec"]
        await served(way, f"/apis/{spec['group']}/v1/{spec['names']['plural']}")


async def served(way: Transport, path: str) -> None:
    await until(lambda: ask(way, "GET", path), lambda answer: answer.status == 200)


async def _serve(api: Api, folder: Path) -> tuple[Server, dict[str, Transport]]:
    identity = self_signed(datetime.now(UTC))
    server = Server(api, context=identity.context(folder))
    await server.start()
    url = f"{server.url}/clusters/management"
    trust = ssl.create_default_context(cadata=identity.certificate.decode())

    def way(token: str) -> HttpTransport:
        async def load() -> Access:
            return Access(url, trust, f"Bearer {token}" if token else "")

        return HttpTransport(ApiCredentials(load, lambda: datetime.now(UTC)))

    return server, {user: way(token) for user, token in _TOKENS.items()}


async def _push_out(way: Transport) -> None:
    path = CONFIGMAPS.replace("{ns}", "kube-system")
    await ask(way, "POST", path, configmap("churn"))
    for number in range(WINDOW + 1):
        await ask(way, "PATCH", f"{path}/churn", {"data": {"n": str(number)}}, media=MERGE)
