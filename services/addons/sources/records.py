"""Notes what each source came to when it was last looked up, one small file each, for the next process as well."""

from collections.abc import Container
from datetime import datetime
from pathlib import Path

import msgspec

from schemas.registry import UNREADABLE


class SourceRecord(msgspec.Struct, frozen=True):
    """What a source came to."""

    digest: str
    """Of the tree in the cache."""
    revision: str
    at: datetime
    """When it was looked up."""


_decoder = msgspec.json.Decoder(SourceRecord)


class Records:
    """The records by the key of their source."""

    def __init__(self, folder: Path) -> None:
        """Raises OSError."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._known = {path.stem: record for path in folder.glob("*.json") if (record := _read(path))}

    def get(self, key: str) -> SourceRecord | None:
        """The last one of a source."""
        return self._known.get(key)

    def put(self, key: str, record: SourceRecord) -> None:
        """Write it whole or not at all. Raises OSError."""
        self._known[key] = record
        new = self._folder / f"{key}.new"
        new.write_bytes(msgspec.json.encode(record))
        new.replace(self._folder / f"{key}.json")

    def keep_only(self, digests: Container[str]) -> None:
        """Forget the records of every other tree."""
        for key in [key for key, record in self._known.items() if record.digest not in digests]:
            del self._known[key]
            (self._folder / f"{key}.json").unlink(missing_ok=True)


def _read(path: Path) -> SourceRecord | None:
    """None for what a crash has damaged: its source is looked up again."""
    try:
        return _decoder.decode(path.read_bytes())
    except (OSError, *UNREADABLE):
        return None
