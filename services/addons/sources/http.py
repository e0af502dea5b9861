"""Reads from servers that tenants name: within a time and a size, with redirects checked and followed."""

import hashlib
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import aiohttp

from events.errors import Denied, TryLater
from events.http.addresses import Reach, Unreachable, check
from events.http.fetch import MOVED
from events.kube.sockets import Sockets
from services.addons.sources.credentials import NOBODY, Credentials

AGAIN = 10.0
"""Seconds until an unreachable server is asked again."""
LONGEST_WAIT = 600.0
"""Seconds that a server may ask to be left alone."""
HOPS = 5
"""Redirects in a row; registries and forges keep what they serve on another host."""
CONNECT, STALL = 10.0, 20.0
"""Seconds to connect, and between two pieces of an answer."""
CHUNK = 1 << 16
LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True)
class HttpAnswer:
    """What a server said."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def shown(url: str) -> str:
    """A URL for messages: without a query, which may be signed, and without what stands before the host."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"[:300]


class HttpClient:
    """Asks one source's servers."""

    def __init__(self, session: aiohttp.ClientSession, reach: Reach | None, known: Credentials) -> None:
        self._session, self._reach = session, reach
        self.credentials = known

    async def read(self, url: str, most: int, headers: Mapping[str, str] | None = None) -> HttpAnswer:
        """A whole answer of any status but a redirect. Raises TryLater, Denied."""
        async with self._answer(url, headers or {}) as got:
            return HttpAnswer(got.status, got.headers, b"".join([each async for each in _chunks(got, most)]))

    async def get(self, url: str, most: int, headers: Mapping[str, str] | None = None) -> HttpAnswer:
        """A whole answer of status 200, with our credentials. Raises TryLater, Denied."""
        answer = await self.read(url, most, {"Authorization": self.credentials.header} | dict(headers or {}))
        refuse(url, answer.status, answer.headers)
        return answer

    async def save(self, url: str, file: Path, most: int, headers: Mapping[str, str] | None = None) -> str:
        """Write an answer of status 200 into a new file. Returns its sha256. Raises TryLater, Denied, OSError of it."""
        told = {"Authorization": self.credentials.header} if headers is None else headers
        with file.open("xb") as sink:
            whole = hashlib.sha256()
            async with self._answer(url, told) as got:
                refuse(url, got.status, got.headers)
                async for chunk in _chunks(got, most):
                    whole.update(chunk)
                    sink.write(chunk)
        return whole.hexdigest()

    @asynccontextmanager
    async def _answer(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[aiohttp.ClientResponse]:
        """What the last of a row of redirects answers; credentials go to no other origin than the first."""
        at, told = url, {key: value for key, value in headers.items() if value}
        for _ in range(HOPS + 1):
            self._refuse(at, told)
            with _faults(at):
                got = await self._session.get(at, headers=told, allow_redirects=False)
            try:
                if got.status not in MOVED:
                    with _faults(at):
                        yield got
                    return
                following = urljoin(at, got.headers.get("Location", ""))
            finally:
                got.close()
            if _origin(following) != _origin(at):
                told = {key: value for key, value in told.items() if key != "Authorization"}
            if at.startswith("https:") and not following.startswith("https:"):
                raise Denied(f"{shown(at)} leads to {shown(following)}, which is not encrypted", "AddressRefused")
            at = following
        raise Denied(f"{shown(url)} leads through more than {HOPS} redirects", "AddressRefused")

    def _refuse(self, url: str, headers: Mapping[str, str]) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
            raise Denied(f"{shown(url)} is no address of a server, or holds a name and password", "InvalidSource")
        if parts.scheme == "http" and "Authorization" in headers and parts.hostname not in LOCAL:
            raise Denied(f"{shown(url)} is not encrypted: credentials are sent over https:// alone", "AddressRefused")
        try:
            check(self._reach, parts.hostname)
        except Unreachable as refused:
            raise Denied(f"{shown(url)} may not be read: {refused}", "AddressRefused") from refused


@contextmanager
def _faults(url: str) -> Iterator[None]:
    try:
        yield
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise _fault(shown(url), error) from error


def _fault(url: str, error: Exception) -> Denied | TryLater:
    """What aiohttp raises, in one sentence with the place."""
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, Unreachable):
        return Denied(f"{url} may not be read: {cause}", "AddressRefused")
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return TryLater(f"{url} shows a certificate that is not trusted: {error.certificate_error}"[:400], AGAIN)
    if isinstance(error, TimeoutError):
        return TryLater(f"{url} does not answer in time", AGAIN)
    if isinstance(error, aiohttp.ClientPayloadError):
        return TryLater(f"{url} was cut off in the middle of its answer", AGAIN)
    return TryLater(f"{url} cannot be reached: {str(cause) or type(error).__name__}"[:400], AGAIN)


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port


async def _chunks(got: aiohttp.ClientResponse, most: int) -> AsyncIterator[bytes]:
    size = 0
    async for chunk in got.content.iter_chunked(CHUNK):
        size += len(chunk)
        if size > most:
            raise Denied(f"{shown(str(got.url))} sends more than {most} bytes", "TooLarge")
        yield chunk


def refuse(url: str, status: int, headers: Mapping[str, str]) -> None:
    """Raises what another status than 200 means."""
    if status == 200:
        return
    said = headers.get("Retry-After", "")
    if status in (401, 403) and not said:
        raise Denied(f"{shown(url)} answers {status}: credentials are missing or wrong", "Unauthorized")
    if status in (404, 410):
        raise Denied(f"{shown(url)} answers {status}: it is not there", "NotFound")
    after = min(float(said[:9]), LONGEST_WAIT) if said.isascii() and said.isdigit() else AGAIN
    raise TryLater(f"{shown(url)} answers {status}", max(after, AGAIN))


@asynccontextmanager
async def http_client(
    reach: Reach | None, known: Credentials = NOBODY, patience: float = 60.0
) -> AsyncIterator[HttpClient]:
    """A client without cookies and proxies, which asks for nothing compressed. `reach`: None allows any address."""
    connector = aiohttp.TCPConnector(socket_factory=Sockets(reach).make, ssl=_tls(known), limit=4)
    stall = min(STALL, patience)
    timeout = aiohttp.ClientTimeout(total=patience, sock_connect=min(CONNECT, patience), sock_read=stall)
    async with aiohttp.ClientSession(
        connector=connector, timeout=timeout, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False,
        headers={"User-Agent": "alate", "Accept-Encoding": "identity"},
    ) as session:  # fmt: skip
        yield HttpClient(session, reach, known)


def _tls(known: Credentials) -> ssl.SSLContext | bool:
    if not known.ca:
        return True
    try:
        return ssl.create_default_context(cadata=known.ca)
    except (ssl.SSLError, ValueError):
        raise Denied("ca.crt of the credentials holds no valid certificate", "InvalidCredentials") from None
