"""Writes a folder of generated files, or names every file that differs."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from schemas.generate.text import MARK


def differing(folder: Path, files: Mapping[str, str]) -> tuple[Path, ...]:
    """Every path that is missing, says something else, or is of ours and not generated any more."""
    wrong = {folder / name for name, text in files.items() if _read(folder / name) != text.encode()}
    return tuple(sorted(wrong | _left_over(folder, files)))


def write(folder: Path, files: Mapping[str, str]) -> tuple[Path, ...]:
    """Make the folder right; gives the paths that were written or removed. Raises OSError."""
    changed = differing(folder, files)
    for path in changed:
        text = files.get(path.relative_to(folder).as_posix())
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
    return changed


def command(folder: Path, files: Mapping[str, str], declared: str, *, check: bool) -> int:
    """Write the files and name them; or `check`, and name each that differs from what is `declared`, and give 1."""
    if not check:
        sys.stdout.writelines(f"{os.path.relpath(path)}\n" for path in write(folder, files))
        return 0
    wrong = differing(folder, files)
    sys.stderr.writelines(f"{os.path.relpath(path)} differs from {declared}: run `make generate`\n" for path in wrong)
    return 1 if wrong else 0


def _left_over(folder: Path, files: Mapping[str, str]) -> set[Path]:
    kept = {folder / name for name in files}
    ours = (path for name in files for path in (folder / name).parent.glob(f"*{Path(name).suffix}"))
    return {path for path in ours if path not in kept and MARK.encode() in path.read_bytes()}


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None
