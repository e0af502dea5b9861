"""Keeps what was fetched in a folder by its digest, up to a size: what was used longest ago goes first."""

import asyncio
import errno
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from tempfile import mkdtemp
from typing import IO
from weakref import WeakValueDictionary

import structlog

from events.errors import TryLater
from services.addons.sources.artifact import CachedTree
from services.addons.sources.records import Records, SourceRecord
from services.addons.sources.tree import Measured, freeze, measure, remove, size_of

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
AGAIN = 30.0
"""Seconds until a fetch is tried again for which there was no space."""

log = structlog.get_logger()


class ArtifactCache:
    """One process's cache. A second process with the same folder gets a room of its own in it."""

    def __init__(self, folder: Path, limit: int) -> None:
        """`limit`: bytes. Raises OSError."""
        self._lock, room = _room(folder)
        self._trees, self._partial = room / "trees", room / "partial"
        self._limit = limit
        self._sizes: dict[str, int] = {}
        """Bytes by digest, in the order of use."""
        self._held: WeakValueDictionary[str, CachedTree] = WeakValueDictionary()
        self._unchecked: set[str] = set()
        remove(self._partial)
        for each in (self._trees, self._partial):
            each.mkdir(parents=True, exist_ok=True)
        self._records = Records(room / "records")
        self._find_again()

    def close(self) -> None:
        """Leave the folder to another process."""
        self._lock.close()

    def _find_again(self) -> None:
        """What an earlier process has left, which may have died at any moment."""
        there = sorted((path.stat().st_mtime, path) for path in self._trees.iterdir())
        self._sizes = {path.name: size_of(path) for _, path in there}
        self._unchecked = set(self._sizes)
        self._records.keep_only(self._sizes)

    @property
    def size(self) -> int:
        """Bytes of all that is kept."""
        return sum(self._sizes.values())

    @asynccontextmanager
    async def partial(self) -> AsyncIterator[Path]:
        """An empty folder to write to, which is gone afterwards. Raises TryLater where the disk is full."""
        folder = None
        try:
            folder = Path(mkdtemp(dir=self._partial))
            yield folder
        except OSError as full:
            if full.errno not in FULL:
                raise
            await self._evict(0)
            raise TryLater(f"the disk of {self._trees} has no space left for what add-ons download", AGAIN) from full
        finally:
            if folder is not None:
                await asyncio.to_thread(remove, folder)

    async def find(self, key: str) -> tuple[SourceRecord, CachedTree] | None:
        """What a source came to when it was last looked up, if it is still there."""
        record = self._records.get(key)
        if record is None or record.digest not in self._sizes:
            return None
        if record.digest in self._unchecked and not await self._whole(record.digest):
            return None
        return record, self._use(record.digest)

    async def _whole(self, digest: str) -> bool:
        """Whether a tree of an earlier process is as it was written; it is deleted if not."""
        measured = await asyncio.to_thread(measure, self._trees / digest)
        self._unchecked.discard(digest)
        if measured.digest != digest and digest in self._sizes:
            log.warning("sources.damaged", digest=digest)
            await asyncio.to_thread(remove, self._set_aside(digest))
        return digest in self._sizes

    def _use(self, digest: str) -> CachedTree:
        self._sizes[digest] = self._sizes.pop(digest)
        root = self._trees / digest
        os.utime(root)
        tree = self._held.get(digest) or CachedTree(digest, Path(os.path.realpath(root)), self._sizes[digest])
        self._held[digest] = tree
        return tree

    async def keep(self, folder: Path) -> CachedTree:
        """Keep a folder of `partial` by its digest. Raises TryLater if there is no room, OSError."""
        measured = await asyncio.to_thread(_seal, folder)
        if measured.digest not in self._sizes:
            await self._evict(measured.size)
        if measured.digest not in self._sizes:
            _move(folder, self._trees / measured.digest)
            self._sizes[measured.digest] = measured.size
        return self._use(measured.digest)

    def record(self, key: str, record: SourceRecord) -> None:
        """Note what a source came to. Raises OSError."""
        self._records.put(key, record)

    async def _evict(self, needed: int) -> None:
        """Make room for so many bytes; 0: as much as can be. Raises TryLater if what is in use leaves too little."""
        for digest in tuple(self._sizes):
            if needed and self.size + needed <= self._limit:
                return
            if digest in self._sizes and digest not in self._held:
                await asyncio.to_thread(remove, self._set_aside(digest))
        if needed and self.size + needed > self._limit:
            used = f"{self.size} of {self._limit} bytes are in use"
            raise TryLater(f"the cache of what add-ons download has no room for {needed} more bytes: {used}", AGAIN)

    def _set_aside(self, digest: str) -> Path:
        """Take a tree out of sight. Returns the folder that is to be deleted."""
        gone, tree = Path(mkdtemp(dir=self._partial)), self._trees / digest
        tree.chmod(0o755)
        tree.rename(gone / digest)
        del self._sizes[digest]
        self._unchecked.discard(digest)
        self._records.keep_only(self._sizes)
        return gone


def _move(folder: Path, to: Path) -> None:
    folder.rename(to)
    to.chmod(0o555)


def _seal(folder: Path) -> Measured:
    freeze(folder)
    folder.chmod(0o755)  # a folder that is to be moved must be writable
    return measure(folder)


def _room(folder: Path) -> tuple[IO[bytes], Path]:
    """The first room that no other process holds, and its lock."""
    for number in count():
        room = folder / str(number)
        room.mkdir(parents=True, exist_ok=True)
        lock = (room / "lock").open("wb")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
        else:
            return lock, room
    raise AssertionError
