"""Plays a page as a reader does: files saved, commands typed in one terminal, their output held against the page."""

import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.docs.blocks import ROOT, Step, blocks
from tests.docs.forms import fits, shorter
from tests.story.conftest import ALATE, ENV, HURRIES, STARTED

WRITE = "ALATE_DOCS_WRITE" in os.environ
"""Put what is printed into the pages where it differs from what they show."""
WITHIN = 90.0
UP = "alate up"
LINKED = ("deploy", "services")
"""What the pages name of the repository."""
SOMEBODY = "/home/you/alate"
"""The folder that pages show."""
SHORTER = {"idleAfter: 20s": "idleAfter: 7s", 'run-seconds: "15"': 'run-seconds: "4"'}
"""What the tutorial's files wait for, and for how long a test does."""
OWN = re.compile(r"\$ (?P<settings>(?:\w+=\S+ )+)alate up$", re.MULTILINE)
"""A page that starts a stack with settings gets one of its own."""
IS_UP = "alate is up in"


class Shell:
    """One terminal of the reader: its variables stay from command to command."""

    def __init__(self, name: str, folder: Path) -> None:
        self._cwd = folder
        self._env = folder / f".env-{name}"
        path = f"{ALATE.parent}{os.pathsep}{ENV['PATH']}"
        self._env.write_text(f"export PATH={shlex.quote(path)}\n")

    def run(self, command: str) -> tuple[int, list[str]]:
        """The exit code, and all that is printed, line by line."""
        script = f"set -a\n. {self._env}\n{command}\ncode=$?\nexport -p > {self._env}\nexit $code"
        into, both = subprocess.PIPE, subprocess.STDOUT
        done = subprocess.run(
            ("/bin/bash", "-c", script),
            cwd=self._cwd,
            env=ENV,
            stdout=into,
            stderr=both,
            text=True,
            timeout=WITHIN,
            check=False,
        )
        return done.returncode, [line.rstrip() for line in done.stdout.splitlines()]


@contextmanager
def stack(folder: Path, **settings: str) -> Iterator[Path]:
    """A running `alate up` with a sandbox that hurries; gives the file of what it prints."""
    folder.mkdir(exist_ok=True)
    for name in LINKED:
        (folder / name).symlink_to(ROOT / name)
    (folder / ".venv").symlink_to(ALATE.parents[1])
    printed, env = folder / "up.out", ENV | HURRIES | settings
    with printed.open("w") as out:
        process = subprocess.Popen((str(ALATE), "up"), cwd=folder, env=env, stdout=out, stderr=subprocess.STDOUT)
    try:
        until = time.monotonic() + STARTED
        while IS_UP not in printed.read_text():
            assert process.poll() is None, printed.read_text()
            assert time.monotonic() < until, printed.read_text()
            time.sleep(0.1)
        yield printed
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)


def play(page: Path, folder: Path, up: Path) -> list[str]:
    """Run a page from top to bottom; gives what differs."""
    if own := OWN.search(page.read_text()):
        settings = dict(each.split("=", 1) for each in own["settings"].split())
        apart = folder.with_name(f"{folder.name}-{page.stem}")  # not within: a stack is found from below
        apart.mkdir()
        for block in reversed(tuple(blocks(page))):  # `alate up` may name a file: as it is first written
            if block.file:
                (apart / block.file).write_text(hurried(block.text))
        with stack(apart, **settings) as printed:
            return _play(page, apart, printed)
    return _play(page, folder, up)


def _play(page: Path, folder: Path, up: Path) -> list[str]:
    shell, wrong = Shell(page.stem, folder), []
    for block in blocks(page):
        if block.file:
            (folder / block.file).write_text(hurried(block.text))
        for step in block.steps() if block.language == "console" and not block.unrun else ():
            code, lines = (0, up.read_text().splitlines()) if step.command.endswith(UP) else shell.run(step.command)
            refused = any(line.startswith("alate: ") for line in step.output)
            if not fits(step.command, step.output, lines) or (code and not refused):
                wrong.append(_told(page, step, code, lines))
                if WRITE:
                    _write(page, step, shorter(step.command, [each.replace(str(folder), SOMEBODY) for each in lines]))
    return wrong


def hurried(text: str) -> str:
    """A file of a page, in which what is waited for takes less long."""
    for written, instead in SHORTER.items():
        text = text.replace(written, instead)
    return text


def _told(page: Path, step: Step, code: int, lines: list[str]) -> str:
    shown, printed = ("\n    ".join(each) for each in (step.output, lines))
    return f"{page.name}: $ {step.command}\n  exit code {code}; shown:\n    {shown}\n  printed:\n    {printed}"


def _write(page: Path, step: Step, lines: list[str]) -> None:
    command = "$ " + step.command.replace("\n", "\n> ")
    before, after = ("\n".join((command, *each)) + "\n" for each in (step.output, lines))
    page.write_text(page.read_text().replace(before, after, 1))
