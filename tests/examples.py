"""How many examples a property is tried with: a part of the full number each day, all by `make test-slow`."""

import os

SHARE = float(os.environ.get("ALATE_TEST_EXAMPLES", "0.3"))
FEWEST = 10


def examples(full: int) -> int:
    """The number of examples of a property that is fully tried with so many."""
    return max(min(full, FEWEST), int(full * SHARE))
