"""Picks the newest version that fits a range, by semantic versioning and by Helm's notation of ranges."""

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

_NUMBER = r"(0|[1-9]\d{0,17})"
_REST = r"(?:-(?P<pre>[0-9A-Za-z.-]+))?(?:\+(?P<build>[0-9A-Za-z.-]+))?"
_VERSION = re.compile(rf"v?{_NUMBER}(?:\.{_NUMBER})?(?:\.{_NUMBER})?{_REST}")
_WILD = rf"(?:{_NUMBER}|[xX*])"
_BOUND = re.compile(rf"(?P<op>!=|>=|=>|<=|=<|>|<|=|\^|~>|~)?\s*v?(?P<at>{_WILD}(?:\.{_WILD}){{0,2}}){_REST}")
_HYPHEN = re.compile(r"(\S+)\s+-\s+(\S+)")
LONGEST = 256
"""Characters of a range."""


class InvalidRange(ValueError):
    """A text is no range of versions; the message is one sentence."""


class Version(NamedTuple):
    """A semantic version, ordered by precedence; build metadata does not count."""

    numbers: tuple[int, int, int]
    final: bool = True
    """It has no pre-release."""
    pre: tuple[tuple[bool, int, str], ...] = ()
    """The parts of the pre-release: numbers come before texts."""


def version(text: str) -> Version | None:
    """The version that a text names, with or without a ``v``; missing numbers are 0. None if it names none."""
    match = _VERSION.fullmatch(text)
    if not match or len(text) > LONGEST:
        return None
    major, minor, patch = (int(each or 0) for each in match.groups()[:3])
    return _of((major, minor, patch), match["pre"])


def exact(text: str) -> bool:
    """Whether a text is one whole version, and no range."""
    match = _VERSION.fullmatch(text)
    return bool(match and match[3] is not None)


def newest(versions: Iterable[str], wanted: str) -> str | None:
    """The newest of the versions that fits; a text that is `wanted` itself comes first. Raises InvalidRange."""
    known = list(versions)
    if wanted in known:
        return wanted
    fits = version_range(wanted)
    parsed = [(each, text) for text in known if (each := version(text)) is not None and fits(each)]
    return max(parsed, key=lambda pair: pair[0])[1] if parsed else None


def version_range(text: str) -> Callable[[Version], bool]:
    """What fits a range such as ``1.x``, ``^1.2``, ``>=1.2 <2 || 3.0.0``. Raises InvalidRange.

    As Helm has it, a version with a pre-release fits only a bound that has one.
    """
    if len(text) > LONGEST:
        raise InvalidRange(f"a range of versions has at most {LONGEST} characters")
    anyof = [_all_of(part) for part in text.split("||")]
    return lambda one: any(all(bound(one) for bound in bounds) for bounds in anyof)


Fits = Callable[[Version], bool]


def _all_of(text: str) -> list[Fits]:
    spread = _HYPHEN.sub(r">=\1 <=\2", text.strip() or "*").replace(",", " ").strip()
    bounds, at = [], 0
    while at < len(spread):
        match = _BOUND.match(spread, at)
        if not match or (match.end() < len(spread) and not spread[match.end()].isspace()):
            raise InvalidRange(f"{text.strip()!r:.80} is no range of versions such as 1.x, ^1.2 or >=1.2 <2")
        bounds.append(_bound(match))
        at = match.end() + len(spread[match.end() :]) - len(spread[match.end() :].lstrip())
    return bounds


def _bound(match: re.Match[str]) -> Fits:
    parts = [int(each) for each in match["at"].split(".") if each.isdigit()]
    low = _of(_three(parts), match["pre"])
    fits = _OPERATORS[match["op"] or "="](low, parts)
    return lambda one: (one.final or not low.final) and fits(one)


def _of(numbers: tuple[int, int, int], pre: str | None) -> Version:
    return Version(numbers, not pre, tuple(map(_rank, pre.split("."))) if pre else ())


def _rank(part: str) -> tuple[bool, int, str]:
    return (False, int(part[:18]), "") if part.isdigit() else (True, 0, part)


def _three(parts: list[int]) -> tuple[int, int, int]:
    major, minor, patch = [*parts, 0, 0, 0][:3]
    return major, minor, patch


def _after(parts: list[int], place: int) -> Version:
    """The first version in which the number at `place` is one higher."""
    return _of(_three([*parts[:place], parts[place] + 1]), "0")


def _same(low: Version, parts: list[int]) -> Fits:
    if not parts:
        return lambda _: True
    return (lambda one: one == low) if len(parts) == 3 else _between(low, _after(parts, len(parts) - 1))


def _between(low: Version, high: Version) -> Fits:
    return lambda one: low <= one < high


def _caret(low: Version, parts: list[int]) -> Fits:
    place = next((at for at, number in enumerate(parts) if number), len(parts) - 1)
    return _between(low, _after(parts, place)) if parts else (lambda _: True)


def _tilde(low: Version, parts: list[int]) -> Fits:
    return _between(low, _after(parts, min(1, len(parts) - 1))) if parts else (lambda _: True)


def _greater(low: Version, parts: list[int]) -> Fits:
    if len(parts) == 3 or not parts:
        return lambda one: bool(parts) and one > low
    high = _after(parts, len(parts) - 1)
    return lambda one: one >= high


def _at_most(low: Version, parts: list[int]) -> Fits:
    over = _greater(low, parts)
    return lambda one: not over(one)


_OPERATORS: dict[str, Callable[[Version, list[int]], Fits]] = {
    "=": _same,
    "!=": lambda low, parts: lambda one: not _same(low, parts)(one),
    ">": _greater,
    "<": lambda low, _: lambda one: one < low,
    ">=": lambda low, _: lambda one: one >= low,
    "=>": lambda low, _: lambda one: one >= low,
    "<=": _at_most,
    "=<": _at_most,
    "^": _caret,
    "~": _tilde,
    "~>": _tilde,
}
