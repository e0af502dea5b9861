"""Formats ages as kubectl does."""

from datetime import datetime, timedelta

# Up to so many seconds: the bigger unit, and the smaller one that is still shown (Go's duration.HumanDuration).
_STEPS = (
    (120, 1, "s", 0, ""),
    (600, 60, "m", 1, "s"),
    (10_800, 60, "m", 0, ""),
    (28_800, 3_600, "h", 60, "m"),
    (172_800, 3_600, "h", 0, ""),
    (691_200, 86_400, "d", 3_600, "h"),
    (63_072_000, 86_400, "d", 0, ""),
    (252_288_000, 31_536_000, "y", 86_400, "d"),
    (float("inf"), 31_536_000, "y", 0, ""),
)


def human(span: timedelta) -> str:
    """A span in one or two units: ``90s``, ``5m30s``, ``3d``."""
    seconds = int(span.total_seconds())
    if seconds < 0:
        return "<invalid>" if seconds < -1 else "0s"
    _, big, unit, small, rest = next(step for step in _STEPS if seconds < step[0])
    left = seconds % big // small if small else 0
    return f"{seconds // big}{unit}" + (f"{left}{rest}" if left else "")


def age(since: str | None, now: datetime) -> str:
    """The age of a Kubernetes time; ``<unknown>`` without one."""
    return human(now - datetime.fromisoformat(since)) if since else "<unknown>"
