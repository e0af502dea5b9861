"""Content of a file that is read again when the file changes; of a damaged file the last good content stays."""

from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

Content = TypeVar("Content")


class FileVersion(NamedTuple):
    """What differs once a file is written, replaced, or reached by another symbolic link, as in a mounted ConfigMap."""

    inode: int
    size: int
    modified: int
    """Nanoseconds."""


def version_of(path: Path) -> FileVersion:
    """The version of a file as it is now; a symbolic link is followed. Raises OSError."""
    stat = path.stat()
    return FileVersion(stat.st_ino, stat.st_size, stat.st_mtime_ns)


def read_start(path: Path, most: int) -> bytes:
    """The file's first `most` bytes, even if it grows meanwhile. Raises OSError."""
    with path.open("rb") as file:
        return file.read(most)


class WatchedFile(Generic[Content]):
    """A file with its last good content, and the reason why its present content is refused."""

    def __init__(self, path: Path, content: Content) -> None:
        """`content` is valid until the file has been read once."""
        self.path = path
        self.content = content
        self.problem = ""
        """Empty: the content is that of the file."""
        self._version: FileVersion | None = None

    def changed(self) -> bool:
        """Whether to read the file, because it differs from what was read last. Raises OSError."""
        version = version_of(self.path)
        before, self._version = self._version, version
        return version != before

    def accept(self, content: Content) -> None:
        """Use this content from now on."""
        self.content, self.problem = content, ""

    def refuse(self, problem: str, *, again: bool = False) -> bool:
        """Keep the last content. Returns whether to log the problem, which is new.

        `again`: read the file at the next look, though it may not have changed.
        """
        before, self.problem = self.problem, problem
        self._version = None if again else self._version
        return problem != before
