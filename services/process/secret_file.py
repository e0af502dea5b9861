"""Writes secret files atomically, readable by their owner only."""

import os
from pathlib import Path


def write_private(path: Path, data: bytes) -> None:
    """Replace a file in one stroke; from its first byte on only its owner may read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
