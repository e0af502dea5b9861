"""A server under test is a process with a log of its own, ended by its handle and by nothing else."""

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from socket import AF_INET, SOCK_STREAM, socket
from threading import Lock
from typing import Self

from services.local.parent_death import GATE, Keeper
from services.local.probe import is_free

PATIENCE = 60.0
"""Seconds a server may take to be ready on a busy machine."""
GRACE = 10.0
"""Seconds a server may take to end when asked."""
PAUSE = 0.05
"""Seconds between two looks at whether it is ready."""


def free_ports(number: int) -> list[int]:
    """Ports of 127.0.0.1 that nobody listens on now."""
    open_ = [socket(AF_INET, SOCK_STREAM) for _ in range(number)]
    try:
        for each in open_:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in open_]
    finally:
        for each in open_:
            each.close()


def until_free(port: int) -> None:
    """Until nobody holds that port of 127.0.0.1 any more. Raises RuntimeError if that takes too long."""
    deadline = time.monotonic() + PATIENCE
    while not is_free(port):
        if time.monotonic() > deadline:
            raise RuntimeError(f"port {port} of 127.0.0.1 is taken by another program, and cannot be chosen: end that")
        time.sleep(PAUSE)


class Bond:
    """Programs that end with us, even where a signal ends us and nothing is torn down."""

    def __init__(self) -> None:
        self._keeper, self._pids, self._lock = Keeper(), set[int](), Lock()  # planes are started in threads, too

    def tie(self, pid: int) -> None:
        with self._lock:
            self._pids.add(pid)
            self._keeper.hold(self._pids)

    def untie(self, pid: int) -> None:
        """It has ended: its number may be anybody's from now on."""
        with self._lock:
            self._pids.discard(pid)
            self._keeper.hold(self._pids) if self._pids else self._keeper.close()


BOND = Bond()


@dataclass
class Process:
    """One program: start it, wait until it is ready, end it."""

    command: Sequence[str]
    log: Path
    env: Mapping[str, str] | None = None
    _running: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._running = subprocess.Popen(
                (*GATE, *self.command),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=self.env,
                cwd=self.log.parent,
                start_new_session=True,
            )
        BOND.tie(self._running.pid)
        with self._running.stdin as gate:
            gate.write(b"\n")

    def wait(self, ready: Callable[[], bool]) -> None:
        """Until `ready` says so. Raises RuntimeError, with the end of the log, if it ends or takes too long."""
        deadline = time.monotonic() + PATIENCE
        while not ready():
            if not self.alive or time.monotonic() > deadline:
                raise RuntimeError(f"{self.command[0]} did not become ready:\n{self.tail()}")
            time.sleep(PAUSE)

    @property
    def alive(self) -> bool:
        return self._running is not None and self._running.poll() is None

    @property
    def pid(self) -> int:
        """The process's id. Raises RuntimeError if it was never started."""
        if self._running is None:
            raise RuntimeError(f"{self.command[0]} was never started")
        return self._running.pid

    def tail(self) -> str:
        """The last lines it wrote."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-20:])

    def kill(self) -> None:
        """End it as a crash would."""
        if self._running:
            self._running.kill()
            self._running.wait()
            BOND.untie(self._running.pid)

    def stop(self) -> None:
        """End it as an administrator would; what does not go in time is killed."""
        if not self._running:
            return
        self._running.terminate()
        try:
            self._running.wait(GRACE)
            BOND.untie(self._running.pid)
        except subprocess.TimeoutExpired:
            self.kill()


class Together:
    """Processes that live and die together: use it as a context."""

    processes: Mapping[str, Process]
    """By name, in the order in which they start."""

    def start(self) -> None:
        """Start them all, and wait until they are ready. Raises RuntimeError."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self.processes.values()):
            process.stop()
