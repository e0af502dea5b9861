"""Runs each operation of Helm in a new process, which gets little, may use little and is ended in time."""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from weakref import WeakValueDictionary

import structlog

from events.errors import Denied, Fault, TryLater
from services.addons.helm.protocol import AGAIN, REPLY, WorkerReply, WorkerRequest, decode_reply, encode_request
from services.addons.helm.worker import PROCESSOR_SECONDS, TOO_MUCH_MEMORY

AT_ONCE = 8
"""Processes of 95 MB each. Most of them wait for hooks."""
SPARE = 75.0
"""Seconds beyond the time for hooks: the SDK waits up to 60 for a CRD to be served, whatever it is told."""
HEAD = 8192
"""Bytes of standard error that are kept, from its beginning: what comes after is how a crash looks inside."""
CHUNK = 65536
PASSED = (
    "PATH", "LANG", "LC_ALL", "PYTHONPATH", "SYSTEMROOT", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy",
)  # fmt: skip
"""The environment variables that a worker gets: how to reach servers, and no key."""
GO = {"GOMEMLIMIT": "512MiB", "GOMAXPROCS": "2", "GOTRACEBACK": "none", "MALLOC_ARENA_MAX": "2"}
WORKER = (sys.executable, "-P", "-m", "services.addons.helm.worker")
"""-P: a folder called services where the user happens to stand is not ours."""
OUT_OF_MEMORY = (b"out of memory", b"cannot allocate memory", b"MemoryError")
TOO_MUCH_TIME = f"the chart needs more than {PROCESSOR_SECONDS} s of processor time"

log = structlog.get_logger()


class HelmWorkers:
    """At most so many workers at once, and half of them on one cluster, so that one that hangs leaves room."""

    def __init__(self, at_once: int = AT_ONCE, program: tuple[str, ...] = WORKER) -> None:
        self._program = program
        self._turns = asyncio.Semaphore(at_once)
        self._share = max(1, at_once // 2)
        self._of_cluster: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def run(self, request: WorkerRequest, cluster: str, seconds: float) -> WorkerReply:
        """The reply to a request, without a fault. Raises MissingPrerequisite, TryLater, Denied.

        `cluster` names the cluster; `seconds` is when the worker is ended.
        """
        share = self._of_cluster.setdefault(cluster, asyncio.Semaphore(self._share))
        async with share, self._turns:
            return await self._run(request, seconds)

    async def _run(self, request: WorkerRequest, seconds: float) -> WorkerReply:
        what, which, where = request.operation, request.release, request.namespace
        try:
            async with _folder() as folder, _process(self._program, folder) as process:
                reply = await _reply(process, encode_request(request), seconds)
        except Fault as fault:
            log.info("helm.failed", operation=what, release=which, namespace=where, error=fault.message)
            raise
        log.info("helm.done", operation=what, release=which, namespace=where, revision=reply.revision)
        return reply


@asynccontextmanager
async def _folder() -> AsyncIterator[Path]:
    """A folder of its own, which nobody else may read and which is deleted afterwards."""
    folder = Path(mkdtemp(prefix="alate-helm-"))
    try:
        yield folder
    finally:
        await asyncio.shield(asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True))


@asynccontextmanager
async def _process(program: tuple[str, ...], folder: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process that is ended afterwards, whatever it does. Raises TryLater."""
    pipe, (executable, *words) = asyncio.subprocess.PIPE, program
    # Python finds its environment by the folder of argv[0], and Helm the name of its field manager by the rest.
    called = str(Path(executable).with_name("helm"))
    try:
        process = await asyncio.create_subprocess_exec(
            called, *words, executable=executable, stdin=pipe, stdout=pipe, stderr=pipe,
            cwd=folder, env=_given(folder), start_new_session=True,
        )  # fmt: skip
    except OSError as why:
        raise TryLater(f"no Helm worker could be started: {why.strerror}", AGAIN) from why
    try:
        yield process
    finally:
        await asyncio.shield(_end(process))


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a process, and read what it has written: asyncio does not see its end before that of its output."""
    assert process.stdout is not None and process.stderr is not None  # noqa: S101, PT018 - it was started with both
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await asyncio.gather(_discard(process.stdout), _discard(process.stderr), process.wait())


async def _discard(stream: asyncio.StreamReader) -> None:
    while await stream.read(CHUNK):
        pass


def _given(folder: Path) -> Mapping[str, str]:
    passed = {name: value for name, value in os.environ.items() if name in PASSED}
    return passed | GO | {"HOME": str(folder), "TMPDIR": str(folder)}


async def _reply(process: asyncio.subprocess.Process, request: bytes, seconds: float) -> WorkerReply:
    """The reply. Raises the fault in it, or for how the process ended."""
    try:
        async with asyncio.timeout(seconds):
            _, answer, errors = await asyncio.gather(_sent(process, request), _answer(process), _errors(process))
            code = await process.wait()
    except TimeoutError as late:
        raise TryLater(f"Helm did not finish within {seconds:g} s and was ended", AGAIN) from late
    if len(answer) > REPLY:
        raise Denied(f"the Helm worker wrote more than {REPLY} bytes", "TooLarge")
    if code:
        raise _ended(code, errors)
    return decode_reply(answer)


async def _sent(process: asyncio.subprocess.Process, request: bytes) -> None:
    """Send the request; standard input stays open, as a worker ends when it is closed."""
    assert process.stdin is not None  # noqa: S101 - it was started with one
    process.stdin.write(request)
    try:
        await process.stdin.drain()
    except ConnectionError:  # how the process ends says why
        return


async def _answer(process: asyncio.subprocess.Process) -> bytes:
    """All of standard output; a process that writes more than a reply may have is ended."""
    assert process.stdout is not None  # noqa: S101 - it was started with one
    answer = bytearray()
    while chunk := await process.stdout.read(CHUNK):
        if len(answer) <= REPLY:
            answer += chunk
        elif process.returncode is None:
            process.kill()
    return bytes(answer)


async def _errors(process: asyncio.subprocess.Process) -> bytes:
    """The beginning of standard error, all of which is read."""
    assert process.stderr is not None  # noqa: S101 - it was started with one
    head = b""
    while chunk := await process.stderr.read(CHUNK):
        head += chunk[: HEAD - len(head)]
    return head


def _ended(code: int, errors: bytes) -> Fault:
    """The fault for a process that ended without a reply."""
    if code == -signal.SIGXCPU:
        return Denied(TOO_MUCH_TIME, "TooCostly")
    if any(each in errors for each in OUT_OF_MEMORY):
        return Denied(TOO_MUCH_MEMORY, "TooCostly")
    log.warning("helm.worker_ended", code=code, errors=errors.decode(errors="replace"))
    return TryLater(f"the Helm worker ended with code {code}", AGAIN)
