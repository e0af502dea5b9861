"""Whether what a command prints has the form that a page shows: what differs from run to run is left out of account."""

import re
from collections.abc import Sequence

ANY = "..."
"""A line that stands for any number of lines, or the end of a line for whatever follows."""
WIDEST, BETWEEN = 110, 5
_FORMS = (
    (r"\x1b\[[\d;]*m", ""),
    (r"/\S*/(?=\.alate\b)", "/"),  # the folder
    (r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\b[0-9a-f]{12,}\b", "#"),  # ids
    (r"(?<=-)(?=[a-z]*\d)[a-z0-9]{5}\b|(?<=-)[bcdfghjklmnpqrstvwxz]{5}\b", "#"),  # ends of names that Kubernetes makes
    (r"(\d+(\.\d+)?(ms|[smhd])(?![a-z]))+", "#"),  # durations
    (r"\d+([.:,T-]\d+)*", "#"),  # numbers, times, dates
    (r"#Z\b", "#"),
    (r"\s+", " "),
    (r"-{2,}", "--"),
)
_WAITS = re.compile(r"\s(--wait|-w|--watch)\b")


def form(line: str) -> str:
    """What stays the same from run to run."""
    for pattern, put in _FORMS:
        line = re.sub(pattern, put, line)
    return line.strip()


def fits(command: str, shown: Sequence[str], printed: Sequence[str]) -> bool:
    """Whether the output is as shown; of a command that waits, the first and the last line: between them it hurries."""
    if _WAITS.search(command) and shown and printed:
        return _line(shown[0], printed[0]) and _line(shown[-1], printed[-1])
    in_any_order = sorted(map(form, shown)) == sorted(map(form, printed))  # names that Kubernetes makes are sorted by
    return in_any_order or _lines(list(shown), list(printed))


def shorter(command: str, printed: Sequence[str]) -> list[str]:
    """What a page shows of it: of a command that waits, the first and the last line and some short ones between."""
    if not _WAITS.search(command):
        return list(printed)
    between = [line for line in printed[1:-1] if len(line) <= WIDEST]
    return [*printed[:1], *between[:BETWEEN], *printed[1:][-1:]]


def _lines(shown: list[str], printed: list[str]) -> bool:
    if not shown:
        return not printed
    if shown[0].strip() == ANY:
        return any(_lines(shown[1:], printed[start:]) for start in range(len(printed) + 1))
    return bool(printed) and _line(shown[0], printed[0]) and _lines(shown[1:], printed[1:])


def _line(shown: str, printed: str) -> bool:
    if shown.endswith(ANY):
        return form(printed).startswith(form(shown.removesuffix(ANY)))
    return form(shown) == form(printed)
