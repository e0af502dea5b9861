"""Follows one request from its publish to a ready cluster, and names every file of ours whose functions run on the way.

All services run in this process on the bus in memory and the sandbox, under virtual time. What the sandbox does is not
counted: it stands for the world.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType

ROOT = Path(__file__).parents[2]
OURS = tuple(f"{ROOT / package}/" for package in ("schemas", "events", "services"))
WORLD = f"{ROOT / 'services' / 'sandbox'}/"


class Entered:
    """The functions that ran, and how often, by file."""

    def __init__(self) -> None:
        self._calls: Counter[CodeType] = Counter()

    def profile(self, frame: FrameType, event: str, _: object) -> None:
        """What `sys.setprofile` calls at each call and return."""
        if event == "call":
            self._calls[frame.f_code] += 1

    def files(self) -> dict[str, Counter[str]]:
        """From a file's path below the root to its functions and their calls."""
        found: dict[str, Counter[str]] = {}
        for code, calls in self._calls.items():
            if code.co_filename.startswith(OURS) and not code.co_filename.startswith(WORLD) and _is_function(code):
                path = str(Path(code.co_filename).relative_to(ROOT))
                found.setdefault(path, Counter())[code.co_qualname] += calls
        return dict(sorted(found.items()))


def _is_function(code: CodeType) -> bool:
    """Whether it is a function of its own, and not a comprehension, a module or what a library generated."""
    return not code.co_name.startswith("<") or code.co_name == "<lambda>"


@contextmanager
def entered() -> Iterator[Entered]:
    """Counts every call that is made within the block."""
    counts = Entered()
    sys.setprofile(counts.profile)
    try:
        yield counts
    finally:
        sys.setprofile(None)


def table(files: dict[str, Counter[str]]) -> str:
    """One line per file: how many functions of it ran, in how many calls; then the sum."""
    rows = [(len(functions), functions.total(), path) for path, functions in files.items()]
    rows.append((sum(row[0] for row in rows), sum(row[1] for row in rows), f"in {len(files)} files"))
    return "\n".join(f"{functions:5} {calls:7} {path}" for functions, calls, path in rows)
