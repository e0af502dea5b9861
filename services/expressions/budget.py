"""The main loop of a process that evaluates what tenants write; what exceeds the budget ends only this process.

It reads requests from standard input and writes replies to standard output, each preceded by its length.
"""

import resource
import signal
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

SECONDS = 0.5
"""Processor time for one request: a thousand times what requests usually take."""
MEMORY = 256 * 1024 * 1024
"""Bytes of memory that a request may use, beyond what the process has at its start."""
LARGEST = 1_000_000
"""Bytes of a reply: the limit of a message on the bus."""
LENGTH = struct.Struct(">I")


def too_much_memory(sentence: str) -> str:
    """Why a request is refused; ``{}`` in the sentence is replaced by the limit."""
    return sentence.format(f"{MEMORY // 1024 // 1024} MiB of memory")


def too_much_time(sentence: str) -> str:
    """Why a request is refused; ``{}`` in the sentence is replaced by the limit."""
    return sentence.format(f"{SECONDS:g} s of a processor")


def framed(data: bytes) -> bytes:
    """The data, preceded by its length."""
    return LENGTH.pack(len(data)) + data


def serve(answer: Callable[[bytes], bytes]) -> None:
    """Answer requests until the service closes the pipe. The kernel ends one that takes too long by SIGPROF.

    All that `answer` needs must be loaded before: the time and the memory for that would count as the first request's.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the service gets it as well, and closes the pipe when it is done
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    _limit()
    for request in _requests(sys.stdin.buffer):
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        reply = answer(request)
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        sys.stdout.buffer.write(framed(reply))
        sys.stdout.buffer.flush()


def _requests(stream: BinaryIO) -> Iterator[bytes]:
    while len(head := stream.read(LENGTH.size)) == LENGTH.size:
        yield stream.read(*LENGTH.unpack(head))


def _limit() -> None:
    """Limit the memory, and write no core dump."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_held() + MEMORY,) * 2)


def _held() -> int:
    """Bytes of address space that are in use already."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:  # not Linux: more than any process has at its start
        return 2 * 1024**3
