"""The digest of a folder's content, and making it read-only, so that what is kept is what was fetched."""

import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

CHUNK = 1 << 20


class Measured(NamedTuple):
    """What a folder or file comes to."""

    digest: str
    """sha256, in hex, over paths and contents; dates, owners and modes do not count."""
    size: int
    """Bytes of all files."""


def measure(root: Path) -> Measured:
    """The digest and size of a file, or of all that a folder holds."""
    whole, size = hashlib.sha256(), 0
    for path in _entries(root):
        kind, told, bytes_ = _content(path)
        name = "" if path == root else path.relative_to(root).as_posix()
        whole.update(f"{kind}\0{name}\0{told}\n".encode("utf-8", "surrogateescape"))
        size += bytes_
    return Measured(whole.hexdigest(), size)


def _entries(root: Path) -> Iterator[Path]:
    if root.is_file():
        yield root
        return
    for folder, folders, files in os.walk(root):
        folders.sort()
        yield from (
            Path(folder, name) for name in sorted([*files, *(n for n in folders if Path(folder, n).is_symlink())])
        )


def _content(path: Path) -> tuple[str, str, int]:
    if path.is_symlink():
        return "link", str(path.readlink()), 0
    whole, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            whole.update(chunk)
            size += len(chunk)
    return "file", whole.hexdigest(), size


def size_of(root: Path) -> int:
    """Bytes of all files of a folder."""
    return sum(path.lstat().st_size for path in _entries(root) if not path.is_symlink())


def freeze(root: Path) -> None:
    """Take away the right to write to it."""
    for folder, _, files in os.walk(root, topdown=False):
        for name in files:
            path = Path(folder, name)
            if not path.is_symlink():
                path.chmod(0o444)
        Path(folder).chmod(0o555)


def remove(root: Path) -> None:
    """Delete a folder, a frozen one as well; what is gone already is no error."""
    for folder, _, _ in os.walk(root):
        Path(folder).chmod(0o755)
    shutil.rmtree(root, ignore_errors=True)
