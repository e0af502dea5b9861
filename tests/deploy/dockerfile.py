"""Plays a Dockerfile without an engine: its steps run on this machine, with every path below one folder."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

ABSOLUTE = ("/opt", "/build")
"""Folders of the image that its steps write: here they stand below the folder that is played in."""


class Step(NamedTuple):
    """One instruction and its words."""

    verb: str
    words: str


def steps(text: str) -> Iterator[Step]:
    """The instructions of a Dockerfile, lines that go on joined."""
    lines = (line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#"))
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        verb, _, words = line.strip().partition(" ")
        yield Step(verb, words.strip())


@dataclass
class Played:
    """What the instructions came to."""

    root: Path
    env: dict[str, str] = field(default_factory=dict)
    user: str = ""
    entrypoint: tuple[str, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)

    def here(self, words: str) -> str:
        """The words with the paths of the image as they are on this machine."""
        for folder in ABSOLUTE:
            words = words.replace(folder, f"{self.root}{folder}")
        return words


def play(dockerfile: Path, root: Path, ignored: Path) -> Played:
    """Run every step in `root`, with no file of the context but those that `ignored` lets in."""
    played, workdir, context = Played(root), root, dockerfile.parent
    for verb, words in steps(dockerfile.read_text()):
        match verb:
            case "WORKDIR":
                workdir = Path(played.here(words)) if words.startswith(ABSOLUTE) else root
                workdir.mkdir(parents=True, exist_ok=True)
            case "COPY" if not words.startswith("--from"):
                *sources, target = words.split()
                for each in sources:
                    _copy(context / each, workdir / target / ("" if target != "./" else each), ignored, context)
            case "RUN":
                subprocess.run(["/bin/sh", "-ec", played.here(words)], cwd=workdir, check=True, env=_environment(root))
            case "ENV":
                played.env |= _pairs(words)
            case "LABEL":
                played.labels |= _pairs(words)
            case "USER":
                played.user = words
            case "ENTRYPOINT":
                played.entrypoint = tuple(each.strip('[]",') for each in played.here(words).split())
    return played


def _environment(root: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "REQUESTS_", "HTTP"))}
    return kept | {"PATH": os.environ["PATH"], "HOME": str(root)}


def _pairs(words: str) -> dict[str, str]:
    return {name: value for name, _, value in (each.partition("=") for each in shlex.split(words))}


def _copy(source: Path, target: Path, ignored: Path, context: Path) -> None:
    allowed = [line[1:] for line in ignored.read_text().splitlines() if line.startswith("!")]
    relative = str(source.relative_to(context))
    if not any(fnmatch(relative, each) or relative.startswith(f"{each}/") for each in allowed):
        raise AssertionError(f"{relative} is not let in by {ignored.name}")
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
