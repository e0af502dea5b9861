"""Unpacks an archive within bounds: size, number of files, nothing outside its folder."""

import gzip
import os
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

from events.errors import Denied, TryLater

CHUNK = 1 << 18
DEEPEST = 32
"""Folders within folders."""
MIB = 1 << 20
_GZIP, _ZIP, _USTAR = b"\x1f\x8b", b"PK\x03\x04", (257, b"ustar")


@dataclass(frozen=True)
class ArchiveBounds:
    """The most that an artifact may have."""

    downloaded: int = 64 * MIB
    """Bytes, as they are sent."""
    unpacked: int = 256 * MIB
    """Bytes of all files."""
    files: int = 50_000
    """Files, folders and links."""


class _Reads(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Counted:
    """A file of which no more than so many bytes are read."""

    def __init__(self, file: _Reads, most: int, what: str) -> None:
        self._file, self._left, self._most, self._what = file, most, most, what

    def read(self, size: int = CHUNK) -> bytes:
        data = self._file.read(min(size, self._left + 1))
        self._left -= len(data)
        if self._left < 0:
            raise Denied(f"{self._what} has more than {self._most} bytes unpacked", "TooLarge")
        return data


def unpack(file: Path, into: Path, name: str, what: str, bounds: ArchiveBounds) -> None:
    """Write what a file holds into a folder: a tar archive's files, or the file itself by its name; both unzipped.

    `what` names it in messages. Raises Denied for what is broken, too large or leads out; TryLater where it is cut off.
    """
    try:
        with file.open("rb") as raw:
            head = raw.read(512)
        if head.startswith(_ZIP):
            raise Denied(f"{what} is a zip archive, which is not read: use .tgz", "InvalidArchive")
        with gzip.open(file) if head.startswith(_GZIP) else file.open("rb") as whole:
            _write(_Counted(whole, bounds.unpacked + bounds.files * 1536, what), into, name, what, bounds)
    except EOFError as short:
        raise TryLater(f"{what} ends in the middle: it was not sent whole", 10.0) from short
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, UnicodeError, ValueError) as broken:
        raise Denied(
            f"{what} is a broken archive: {str(broken) or type(broken).__name__:.200}", "InvalidArchive"
        ) from broken


def _write(whole: _Counted, into: Path, name: str, what: str, bounds: ArchiveBounds) -> None:
    head = b""
    while len(head) < 512 and (more := whole.read(512 - len(head))):
        head += more
    rest = _Rejoined(head, whole)
    if head[_USTAR[0] :].startswith(_USTAR[1]):
        _extract(rest, into, what, bounds)
    else:
        _copy(rest, into / name, bounds.unpacked, what)


class _Rejoined:
    """A file whose beginning was read already."""

    def __init__(self, head: bytes, rest: _Counted) -> None:
        self._head, self._rest = head, rest

    def read(self, size: int = CHUNK) -> bytes:
        if not self._head:
            return self._rest.read(size)
        given, self._head = self._head[:size], self._head[size:]
        return given


def _extract(whole: _Rejoined, into: Path, what: str, bounds: ArchiveBounds) -> None:
    left, links = bounds.unpacked, []
    with tarfile.open(fileobj=whole, mode="r|", bufsize=CHUNK) as archive:  # type: ignore[call-overload] # it reads alone
        for number, member in enumerate(archive, 1):
            if number > bounds.files:
                raise Denied(f"{what} has more than {bounds.files} files", "TooLarge")
            path = into / inside(member.name, what)
            if member.isdir():
                path.mkdir(parents=True, exist_ok=True)
            elif member.issym():
                links.append((path, member.linkname))
            elif member.isfile() and (data := archive.extractfile(member)):
                left -= _copy(data, path, left, what)
            else:
                raise Denied(f"{what} holds {member.name!r:.100}, which is no file, folder or link", "InvalidArchive")
    _link(links, into, what)


def inside(name: str, what: str) -> PurePosixPath:
    """The path of a file within an archive. Raises Denied if it leads out of it."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name or len(path.parts) > DEEPEST or len(name) > 1024:
        raise Denied(f"{what} holds {name!r:.100}, a path that leads out of it or is too long", "InvalidArchive")
    return path


def _copy(data: _Reads, path: Path, most: int, what: str) -> int:
    """Write a new file. Returns its size."""
    size = 0
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("xb") as file:
            while chunk := data.read(CHUNK):
                size += file.write(chunk)
                if size > most:
                    raise Denied(f"{what} has more bytes unpacked than are allowed", "TooLarge")
    except (FileExistsError, NotADirectoryError) as twice:
        raise Denied(f"{what} holds {path.name!r:.100} twice", "InvalidArchive") from twice
    return size


def _link(links: list[tuple[Path, str]], into: Path, what: str) -> None:
    """Make symbolic links once all files are written, so that nothing is written through one."""
    root = Path(os.path.realpath(into))
    for path, target in links:
        path.parent.mkdir(parents=True, exist_ok=True)
        if Path(os.path.realpath(path.parent)) != path.parent.absolute() or PurePosixPath(target).is_absolute():
            raise Denied(f"{what} holds the link {path.name!r:.100}, which leads out of it", "InvalidArchive")
        path.symlink_to(target)
    for path, _ in links:
        if not Path(os.path.realpath(path)).is_relative_to(root):
            raise Denied(f"{what} holds the link {path.name!r:.100}, which leads out of it", "InvalidArchive")
