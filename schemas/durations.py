"""Reads and writes durations as Go and Kubernetes write them ("90s", "1h30m")."""

import re
from datetime import timedelta
from decimal import Decimal

PATTERN = r"^([0-9]{1,9}(\.[0-9]{1,6})?(h|m|s|ms))+$"
"""What `parse` accepts, as a regular expression that Go, Python and Rust read alike."""

LONGEST = timedelta(days=3650)
"""Ten years; added to any date it stays a valid date."""

_WHOLE = re.compile(PATTERN.replace("^", r"\A").replace("$", r"\Z"))
_PART = re.compile(r"([0-9.]+)(h|ms|m|s)")
_MICROSECONDS = {"h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000, "ms": 1_000}


def parse(text: str) -> timedelta:
    """Read ``1h30m``; units are h, m, s and ms, fractions below a microsecond are dropped.

    Raises ValueError with what would be right.
    """
    if not _WHOLE.match(text):
        raise ValueError("must be a duration such as 90s or 1h30m")
    total = sum(int(Decimal(number) * _MICROSECONDS[unit]) for number, unit in _PART.findall(text))
    if total > LONGEST // timedelta(microseconds=1):
        raise ValueError(f"must be at most {write(LONGEST)}")
    return timedelta(microseconds=total)


def write(duration: timedelta) -> str:
    """Write a duration that is not negative so that `parse` reads the same: ``1h30m``, ``0.25s``, ``0s``."""
    minutes, rest = divmod(duration, timedelta(minutes=1))
    hours, minutes = divmod(minutes, 60)
    seconds, microseconds = divmod(rest // timedelta(microseconds=1), 1_000_000)
    fraction = f".{microseconds:06d}".rstrip("0").rstrip(".")
    parts = ((f"{hours}", "h"), (f"{minutes}", "m"), (f"{seconds}{fraction}", "s"))
    return "".join(number + unit for number, unit in parts if number != "0") or "0s"
