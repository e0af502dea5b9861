"""Runs a program on what tenants wrote, within a time, memory and size and with nothing of our environment."""

import asyncio
import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

MIB = 1 << 20
LIMITED = (
    "/bin/sh",
    "-c",
    'ulimit -c 0; ulimit -v "$1" 2>/dev/null; ulimit -f "$2"; ulimit -t "$3"; shift 3; exec "$@"',
    "limited",
)
"""Put before a command: its limits are set before it begins. Systems that cannot limit memory leave it to the clock."""
KEPT = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT")
"""The environment variables that a program gets: no address and no key."""
SAID = 64 << 10
"""Bytes of what a program says of its mistakes that are kept: the last ones."""


@dataclass(frozen=True)
class ProgramBounds:
    """The most that a program may use."""

    seconds: float = 60.0
    """By the clock; and so many of a processor."""
    memory: int = 2048 * MIB
    """Bytes of address space: programs in Go reserve a multiple of what they use."""
    file: int = 256 * MIB
    """Bytes of one file that it writes."""
    output: int = 32 * MIB
    """Bytes that it writes to its standard output."""


class ProgramResult(NamedTuple):
    """How a program ended."""

    code: int
    """0: well; negative: by that signal."""
    output: bytes
    said: str
    """The end of its standard error."""


class ProgramOverrun(Exception):
    """A program was ended because it took more than it may; the message says of what."""


def find_program(name: str) -> str | None:
    """The path of a program by its name or path; None if it is not there."""
    return shutil.which(name)


async def run_program(
    command: Sequence[str], home: Path, bounds: ProgramBounds, env: Mapping[str, str] | None = None, asks: bytes = b""
) -> ProgramResult:
    """Run it in `home`, its only HOME, and end it with all that it started. Raises ProgramOverrun, OSError."""
    shown = {name: value for name, value in os.environ.items() if name in KEPT}
    private = {"HOME": str(home), "TMPDIR": str(home), "XDG_CONFIG_HOME": str(home)}
    limits = (str(bounds.memory // 1024), str(bounds.file // 512), str(int(bounds.seconds) + 1))
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *LIMITED, *limits, *command, cwd=home, env=shown | private | dict(env or {}),
        stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True,
    )  # fmt: skip
    try:
        async with asyncio.timeout(bounds.seconds):
            return await _ended(process, asks, bounds.output)
    except TimeoutError:
        raise ProgramOverrun(f"takes more than {bounds.seconds:g} s") from None
    finally:
        await _end(process)


async def _ended(process: asyncio.subprocess.Process, asks: bytes, most: int) -> ProgramResult:
    if process.stdin is None or process.stdout is None or process.stderr is None:
        raise OSError("a process without pipes")
    output, said, _ = await asyncio.gather(
        _read(process.stdout, most), _tail(process.stderr), _tell(process.stdin, asks)
    )
    return ProgramResult(await process.wait(), output, said)


async def _tell(pipe: asyncio.StreamWriter, asks: bytes) -> None:
    with suppress(BrokenPipeError, ConnectionResetError):  # it did not want to know
        pipe.write(asks)
        await pipe.drain()
    pipe.close()


async def _read(pipe: asyncio.StreamReader, most: int) -> bytes:
    data = bytearray()
    while chunk := await pipe.read(1 << 16):
        data += chunk
        if len(data) > most:
            raise ProgramOverrun(f"gives more than {most} bytes")
    return bytes(data)


async def _tail(pipe: asyncio.StreamReader) -> str:
    data = b""
    while chunk := await pipe.read(1 << 16):
        data = (data + chunk)[-SAID:]
    return data.decode(errors="replace").strip()


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill the process and all that it started, which may have outlived it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    # asyncio waits for the ends of its pipes, too, and a reader that nobody reads from holds them back for ever.
    await asyncio.shield(asyncio.gather(_discard(process.stdout), _discard(process.stderr), process.wait()))


async def _discard(pipe: asyncio.StreamReader | None) -> None:
    with suppress(RuntimeError):  # somebody reads it to its end already
        while pipe is not None and await pipe.read(1 << 16):
            pass
