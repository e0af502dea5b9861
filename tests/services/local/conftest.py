"""Small programs with a known fault stand in for the stack's, so that each test sees one thing."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from services.local.program import Program

# Before 3.14 pytest-asyncio's look at "the loop before" makes one that nobody closes; None says there is none.
asyncio.set_event_loop(None)

DEADLINE = 20.0


@pytest.fixture
def until() -> Callable[[Callable[[], bool]], Awaitable[None]]:
    """Waits for something another process does; fails after a deadline."""

    async def wait(true: Callable[[], bool]) -> None:
        async with asyncio.timeout(DEADLINE):
            while not true():  # noqa: ASYNC110 - another process has no event to wait for
                await asyncio.sleep(0.01)

    return wait


@pytest.fixture
def alive() -> Callable[[int], bool]:
    """Whether a process runs (one that waits to be collected does not)."""

    def runs(pid: int) -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        stat = Path(f"/proc/{pid}/stat")
        return not stat.exists() or stat.read_text().rsplit(") ", 1)[1][0] != "Z"

    return runs


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., Program]:
    """Makes a program of a few lines of Python; it is ready when its file `<name>.up` is there."""

    def make(name: str, code: str = "ready(); time.sleep(600)", **more: float) -> Program:
        up = tmp_path / f"{name}.up"
        lines = f"import os, pathlib, signal, subprocess, sys, time\ndef ready(): pathlib.Path({str(up)!r}).touch()\n"

        async def answers() -> bool:
            return up.exists()

        return Program(name, (sys.executable, "-c", lines + code), tmp_path / "logs" / f"{name}.log", answers, **more)

    return make
