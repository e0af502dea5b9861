"""Sends requests to a real API server over HTTP, always with a time-out."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from ipaddress import ip_address
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from events.errors import Denied, TryLater
from events.http.addresses import Reach, Unreachable, check
from events.kube.concurrency import ConcurrencyLimit
from events.kube.limits import AGAIN, MANAGEMENT, Bounds, TooLarge
from events.kube.port import Request, Response
from events.kube.sockets import Sockets

ANSWER = 15.0
"""Seconds until an answer must be there; of a watch, its headers."""
IDLE = 90.0
"""Seconds a watch may say nothing; API servers send a bookmark about every 60."""
AT_ONCE = 16
"""Questions to one server at the same time; more would open connections that the next ones do not need."""
KEPT = 5.0
"""Seconds an idle connection stays open: requests to workload clusters come in bursts, and there are many clusters."""
UNREACHABLE = "AddressRefused"
"""Why a server is not spoken to."""
PLAIN = "identity"
"""The only Content-Encoding that is requested and accepted."""
AGENT = {"User-Agent": "alate", "Accept": "application/json", "Accept-Encoding": PLAIN}


@dataclass(frozen=True, slots=True)
class Access:
    """Where an API server is, how to be sure that it is the one, and what proves who we are."""

    server: str
    """Base URL; may hold a path."""
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    token: str = field(default="", repr=False)
    """Value of the Authorization header."""
    server_name: str | None = None
    """The name in the server's certificate, if it is not the URL's host."""
    proxy: str | None = None
    fresh_until: datetime | None = None
    """When to read it again; None: when the server refuses it."""


class ApiCredentials:
    """The credentials in use, read again when they are stale or refused: tokens and certificates rotate."""

    def __init__(self, load: Callable[[], Awaitable[Access]], clock: Callable[[], datetime]) -> None:
        """`load` raises `Denied` if what it reads is wrong; after the first time that becomes `TryLater`."""
        self._load = load
        self._clock = clock
        self._access: Access | None = None
        self._lock = asyncio.Lock()

    async def current(self) -> Access:
        """The access to use now."""
        access = self._access
        if access and (access.fresh_until is None or self._clock() < access.fresh_until):
            return access
        return await self.instead_of(access)

    async def instead_of(self, stale: Access | None) -> Access:
        """Another access than `stale`; of many who ask at once, one reads it."""
        async with self._lock:
            if self._access is stale or self._access is None:
                self._access = await self._read()
            return self._access

    async def _read(self) -> Access:
        try:
            async with asyncio.timeout(ANSWER):
                return await self._load()
        except TimeoutError as late:  # a plug-in that a kubeconfig names may hang
            raise TryLater(f"the credentials could not be read in {ANSWER:g} s") from late
        except Denied as fault:
            if self._access is None:
                raise
            raise TryLater(f"the credentials cannot be read anew: {fault}", after=5.0) from fault


class HttpTransport:
    """Keeps connections to one API server; every watch has its own."""

    def __init__(
        self, credentials: ApiCredentials, *, answer: float = ANSWER, idle: float = IDLE, bounds: Bounds = MANAGEMENT,
        reach: Reach | None = None,
    ) -> None:  # fmt: skip
        """`answer` and `idle` are seconds: until all of an answer must be there, and until a silent watch is cut."""
        self.credentials = credentials
        self._bounds = bounds
        self._answer = answer
        self._idle = idle
        self._turns = ConcurrencyLimit(AT_ONCE, answer)
        self._session: aiohttp.ClientSession | None = None
        self._reach = reach
        self._sockets = Sockets()
        self._closed = False

    async def send(self, request: Request) -> Response:
        """Ask once, or twice if the credentials were refused and others are there."""
        access = await self.credentials.current()
        with _faults(access.server, request):
            async with self._turns.taken(), self._open(access, request) as answer:
                return Response(answer.status, answer.headers, await self._body(access, request, answer))

    async def stream(self, request: Request) -> AsyncIterator[bytes | Response]:
        """One line a time; see `events.kube.port.Transport`."""
        access = await self.credentials.current()
        with _faults(access.server, request):
            async with self._open(access, request) as answer:
                if answer.status != 200:
                    async with asyncio.timeout(self._answer):
                        body = await self._body(access, request, answer)
                    yield Response(answer.status, answer.headers, body)
                    return
                async for line in _lines(answer.content, self._bounds.event, self._idle):
                    yield line

    async def close(self) -> None:
        """Close every connection."""
        self._closed = True
        if self._session is not None:
            await self._session.close()
            await self._sockets.close()

    async def _body(self, access: Access, request: Request, answer: aiohttp.ClientResponse) -> bytes:
        """All of an answer. Raises TooLarge as soon as it is known to be."""
        chunks, size, most = [], answer.content_length or 0, self._bounds.answer
        if size <= most:
            size = 0
            async for chunk in answer.content.iter_any():
                chunks.append(chunk)
                size += len(chunk)
                if size > most:
                    break
        if size > most:
            told = f"{access.server} answered {request.method} {request.path} with more than {most} bytes"
            raise TooLarge(told, after=AGAIN)
        return b"".join(chunks)

    @asynccontextmanager
    async def _open(self, access: Access, request: Request) -> AsyncIterator[aiohttp.ClientResponse]:
        answer = await self._ask(access, request)
        if answer.status == 401:
            answer.release()
            answer = await self._ask(await self.credentials.instead_of(access), request)
        async with answer:
            coding = answer.headers.get("Content-Encoding", PLAIN)
            if coding.lower() != PLAIN:  # a small answer may unpack to any size
                raise TryLater(f"{access.server} answers in {coding}, and was asked to pack nothing", after=AGAIN)
            yield answer

    async def _ask(self, access: Access, request: Request) -> aiohttp.ClientResponse:
        headers = AGENT | dict(request.headers) | ({"Authorization": access.token} if access.token else {})
        async with asyncio.timeout(self._answer):
            return await self._connected(access).request(
                request.method,
                _url(access.server, request.path),
                params=request.query,
                headers=headers,
                data=request.body or None,
                # Per request, so that the next connection uses a rotated certificate.
                ssl=access.tls or True,
                server_hostname=access.server_name,
                proxy=access.proxy,
                allow_redirects=False,  # a redirect would carry the token to another host
                timeout=aiohttp.ClientTimeout(total=None, sock_read=self._idle),
            )

    def _connected(self, access: Access) -> aiohttp.ClientSession:
        if self._closed:  # a rotated kubeconfig closes the way that somebody else still goes
            raise TryLater(f"the way to {access.server} was closed")
        if self._session is None:
            check(self._reach, URL(access.server).host or "")
            # Who has a proxy of ours look up the name trusts it to know where that leads.
            self._sockets = Sockets(None if _proxied(access.server) else self._reach)
            self._session = aiohttp.ClientSession(
                # No limit: every watch holds one.
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEPT, socket_factory=self._sockets.make),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                # HTTPS_PROXY counts as it does for kubectl, which never sends loopback through a proxy.
                trust_env=not _loopback(access.server),
            )
        return self._session


async def _lines(content: aiohttp.StreamReader, most: int, within: float) -> AsyncIterator[bytes]:
    """Events of up to `most` bytes, each whole `within` so many seconds of its beginning.

    `readline` refuses lines beyond its buffer, and objects have up to 1.5 MiB.
    """
    clock = asyncio.get_running_loop().time
    parts, began = _Parts(), clock()
    async for chunk in content.iter_any():
        first = not parts.rest
        events = parts.of(chunk)
        for event in filter(None, events):
            yield event
        if events or first:
            began = clock()
        if len(parts.rest) > most:
            raise TooLarge(f"an event of the watch has more than {most} bytes", after=AGAIN)
        if clock() - began > within:
            raise TryLater(f"an event of the watch was not whole after {within:g} seconds", after=0.0)
    if parts.rest.strip():
        raise TryLater("the watch was cut within an event", after=0.0)


class _Parts:
    """What came of a watch; a chunk costs its own length, however long the event is that it is a part of."""

    def __init__(self) -> None:
        self.rest = bytearray()
        """Of an event that is not whole."""

    def of(self, chunk: bytes) -> list[bytes]:
        """The events that are whole with this chunk."""
        seen = max(0, len(self.rest) - 1)  # an end of two bytes may have come by halves
        self.rest += chunk if self.rest else chunk.lstrip()  # the line's end of the one before may come with the next
        if self.rest.find(_end(self.rest), seen) < 0:
            return []
        *events, rest = _parted(bytes(self.rest))
        self.rest = bytearray(rest)
        return events


def _end(text: bytes | bytearray) -> bytes:
    return b"\n}" if text.startswith(b"{\n") else b"\n"


def _parted(text: bytes) -> list[bytes]:
    """Whole events, then the rest: a line each, or indented over many lines with nothing between two.

    The latter is how Cluster API's in-memory provider (v1.12.3) writes; within JSON no line begins with a brace then.
    """
    end = _end(text)
    *events, rest = text.split(end)
    return [*events, rest] if end == b"\n" else [*(event + end for event in events), rest.lstrip()]


@contextmanager
def _faults(server: str, request: Request) -> Iterator[None]:
    try:
        yield
    except aiohttp.ClientConnectorCertificateError as error:
        raise Denied(
            f"the certificate of {server} is not one the kubeconfig's certificate authority vouches for "
            f"({error.certificate_error}): expected the cluster's own CA in certificate-authority-data",
            reason="BadKubeconfig",
        ) from error
    except Unreachable as error:
        raise Denied(f"{server}: {error}", UNREACHABLE) from error
    except aiohttp.ClientConnectorError as error:
        if isinstance(error.os_error, Unreachable):
            raise Denied(f"{server}: {error.os_error}", UNREACHABLE) from error
        raise TryLater(f"{server} cannot be reached: {error.os_error}") from error
    except TimeoutError as error:  # before ClientError: aiohttp's time-outs are both
        raise TryLater(f"{server} gave no answer to {request.method} {request.path} in time", after=0.0) from error
    except (aiohttp.ClientError, OSError, ValueError) as error:  # ValueError: a name that no host can have
        raise TryLater(f"the connection to {server} broke: {error}", after=0.0) from error


def _url(server: str, path: str) -> URL:
    """The URL with its path unchanged: yarl would resolve dots in it, and so request something else."""
    base = URL(server)
    return base.with_path(base.raw_path.removesuffix("/") + path, encoded=True)


def _proxied(server: str) -> bool:
    """Whether HTTPS_PROXY and the like name a proxy; aiohttp (3.14) ignores one that itself uses TLS."""
    url = URL(server)
    proxy = getproxies().get(url.scheme, "https:")
    return not proxy.startswith(("https:", "wss:")) and not proxy_bypass(url.host or "") and not _loopback(server)


def _loopback(server: str) -> bool:
    host = URL(server).host or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
