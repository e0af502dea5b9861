"""Checks from outside whether a program answers."""

import asyncio
import random
import shutil
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from socket import AF_INET, SO_REUSEADDR, SOCK_STREAM, SOL_SOCKET, socket

from events.bus import Unavailable
from events.errors import Denied, Fault
from events.jetstream.bus import connect
from events.jetstream.credentials import NkeyCredentials
from events.jetstream.store_health import UNSTORED
from events.kube.auth import transport
from events.kube.client import Request

HOST = "127.0.0.1"
PATIENCE = 2.0
"""Seconds an answer may take."""
# Below the ports a system hands out to clients: a client that reconnects to a server that is just away could be
# given the server's own port, and then talks to itself (RFC 9293, simultaneous open) and keeps the server out.
PORTS = range(20_000, 32_000)
TRIES = 100
LARGEST = 65_536
"""Bytes of an answer that are read."""
ROOM = 8 * 1024 * 1024
"""Bytes that must be free for NATS to be worth a new start."""

Probe = Callable[[], Awaitable[bool]]


class Busy(Exception):
    """No port can be had; the message is one clear sentence."""


def is_free(port: int) -> bool:
    """Whether a server could listen there now."""
    with socket(AF_INET, SOCK_STREAM) as probe:
        probe.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
            probe.listen(1)
        except OSError:
            return False
    return True


def free_ports(how_many: int, choice: Callable[[range, int], list[int]] = random.sample) -> tuple[int, ...]:
    """Different ports on the loopback that are free now; raises `Busy`."""
    free = [port for port in choice(PORTS, TRIES) if is_free(port)][:how_many]
    if len(free) < how_many:
        raise Busy(f"fewer than {how_many} ports from {PORTS.start} to {PORTS.stop} are free on {HOST}")
    return tuple(free)


async def first_line(port: int, ask: bytes = b"") -> bytes:
    """The first line of a server after a request; empty if none answers."""
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection(HOST, port)
            try:
                writer.write(ask)
                return await reader.readline()
            finally:
                writer.close()
    except (OSError, TimeoutError, ValueError):  # refused, silent, or a line without end: it does not answer
        return b""


async def body(port: int, path: str) -> str:
    """The whole response to a GET of the path; empty if none answers."""
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection(HOST, port)
            try:
                writer.write(_get(port, path))
                return (await reader.read(LARGEST)).decode(errors="replace")
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return ""


def unstoring(ports: Iterable[int], folder: Path) -> Callable[[], Awaitable[str]]:
    """Whether any service says that NATS stores nothing, although there is room for it in its folder."""

    async def sick() -> str:
        told = [await body(port, "/readyz") for port in ports]
        room = _free(folder) >= ROOM
        return "stores nothing although there is room" if room and any(UNSTORED in each for each in told) else ""

    return sick


def _free(folder: Path) -> int:
    """Free bytes; None if unknown."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 0


def _get(port: int, path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: {HOST}:{port}\r\nConnection: close\r\n\r\n".encode()


def http(port: int, path: str) -> Probe:
    """Whether a GET of the path is answered with 200."""
    ask = _get(port, path)

    async def probe() -> bool:
        return b" 200 " in await first_line(port, ask)

    return probe


def greets(port: int) -> Probe:
    """Whether a NATS server greets, with JetStream or without."""

    async def probe() -> bool:
        return (await first_line(port)).startswith(b"INFO ")

    return probe


def nats(port: int, setup: NkeyCredentials) -> Probe:
    """Whether a NATS server with JetStream greets and has our streams: they are made by this, if they are absent."""

    async def probe() -> bool:
        if b'"jetstream":true' not in await first_line(port):
            return False
        try:
            bus = await connect(f"nats://{HOST}:{port}", name="setup", credentials=setup, patience=PATIENCE)
        except (Unavailable, Denied):  # its own log says why
            return False
        await bus.close()
        return True

    return probe


def api(kubeconfig: Path) -> Probe:
    """Whether the API server of a kubeconfig is there and ready; a file that is not there yet is not."""

    async def probe() -> bool:
        if not kubeconfig.exists():  # noqa: ASYNC240 - one stat of a local file
            return False
        try:
            server = await transport(str(kubeconfig))
        except Fault:  # half written
            return False
        try:
            async with asyncio.timeout(PATIENCE):
                return (await server.send(Request("GET", "/readyz"))).status == 200
        except (Fault, TimeoutError):  # it does not answer
            return False
        finally:
            await server.close()

    return probe
