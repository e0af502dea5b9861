"""Stories are told by the real command in real processes, each in a folder and with an environment of its own."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Timer

import pytest

# Before 3.14 pytest-asyncio's look at "the loop before" makes one that nobody closes; None says there is none.
asyncio.set_event_loop(None)

ALATE = Path(sys.executable).with_name("alate")
ENV = {name: value for name, value in os.environ.items() if not name.startswith("ALATE_") and name != "KUBECONFIG"}
HURRIES = {"ALATE_SANDBOX_SPEED": "0.3"}
"""For a sandbox that hurries."""
STARTED = 90.0
"""Seconds in which a stack must be up, on a busy machine too."""


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict:
        return json.loads(self.out)


async def run(*words: str | Path, cwd: Path, env: Mapping[str, str] = ENV, within: float = 60.0) -> Done:
    """Run a program to its end."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*map(str, words), cwd=cwd, env=env, stdout=pipe, stderr=pipe)
    try:
        out, err = await asyncio.wait_for(process.communicate(), within)
    except BaseException:
        process.send_signal(signal.SIGINT)  # so that it ends its own processes, too
        await process.communicate()
        raise
    assert process.returncode is not None
    return Done(process.returncode, out.decode(), err.decode())


@pytest.fixture
def alate(tmp_path: Path) -> Callable[..., Awaitable[Done]]:
    """Runs `alate …` in the test's folder; a sandbox that it starts hurries."""

    async def command(*words: str | Path, within: float = 60.0) -> Done:
        return await run(ALATE, *words, cwd=tmp_path, env=ENV | HURRIES, within=within)

    return command


@dataclass(frozen=True)
class Stack:
    """A running `alate up`."""

    process: subprocess.Popen[str]
    cwd: Path

    @property
    def folder(self) -> Path:
        return self.cwd / ".alate"

    @property
    def nats(self) -> str:
        return json.loads((self.folder / "stack.json").read_text())["nats_url"]

    @property
    def hooks(self) -> str:
        return f"http://127.0.0.1:{json.loads((self.folder / 'ports.json').read_text())['edge']}/hooks"

    def key(self, role: str) -> Path:
        return self.folder / "keys" / f"{role}.nk"

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    async def alate(self, *words: str | Path, within: float = 60.0) -> Done:
        return await run(ALATE, *words, cwd=self.cwd, within=within)

    async def kubectl(self, *words: str | Path, within: float = 60.0) -> Done:
        env = ENV | {"KUBECONFIG": str(self.kubeconfig)}
        return await run("kubectl", *words, cwd=self.cwd, env=env, within=within)


@contextmanager
def running(folder: Path, **settings: str) -> Iterator[Stack]:
    """`alate up` in a folder, with further variables in its environment, ended as Ctrl-C ends it."""
    env = ENV | settings
    process = subprocess.Popen((str(ALATE), "up"), cwd=folder, env=env, stdout=subprocess.PIPE, text=True)
    late = Timer(STARTED, process.terminate)
    late.start()
    try:
        assert process.stdout is not None
        while "alate is up in" not in (line := process.stdout.readline()):
            assert line, "alate up ended before it was up"
        late.cancel()
        yield Stack(process, folder)
    finally:
        late.cancel()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


@pytest.fixture
def up(tmp_path: Path):
    """``with up() as stack`` runs one in the test's folder."""
    return lambda **settings: running(tmp_path, **settings)


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """One that all stories share which leave the others' clusters, endpoints and dead letters alone."""
    with running(tmp_path_factory.mktemp("stack"), **HURRIES) as shared:
        yield shared


@pytest.fixture
def demo_until(tmp_path: Path) -> Callable[[bytes], Awaitable[int | None]]:
    """Runs `alate demo` until it says a word, then sends what Ctrl-C sends; gives its exit code."""

    async def interrupted(word: bytes) -> int | None:
        env, pipe = ENV | HURRIES | {"TMPDIR": str(tmp_path)}, asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(str(ALATE), "demo", env=env, stdout=pipe)
        assert process.stdout is not None
        async with asyncio.timeout(STARTED):
            while word not in (line := await process.stdout.readline()):
                assert line, "the demo ended before it was interrupted"
        process.send_signal(signal.SIGINT)
        await process.communicate()
        return process.returncode

    return interrupted
