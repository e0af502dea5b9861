"""A supervised program, as data."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path


class NotStarted(Exception):
    """A part of the stack did not come up; the message is one clear sentence."""


async def _well() -> str:
    return ""


async def _alive() -> bool:
    return True


@dataclass(frozen=True)
class Program:
    """One process of the stack."""

    name: str
    argv: tuple[str, ...]
    log: Path
    """Takes all it says; added to, never emptied."""
    ready: Callable[[], Awaitable[bool]]
    """Whether it answers now; never raises."""
    env: Mapping[str, str] = field(default_factory=dict)
    """On top of our own environment."""
    grace: float = 10.0
    """Seconds from SIGTERM to SIGKILL."""
    alive: Callable[[], Awaitable[bool]] = _alive
    """Whether it does anything at all now, its clients served or not; never raises."""
    sick: Callable[[], Awaitable[str]] = _well
    """Why it is to be started again although it answers, for people; empty if it is not. Never raises."""

    def last_words(self) -> str:
        """The last line that it wrote."""
        lines = self.log.read_text(errors="replace").strip().splitlines() if self.log.exists() else []
        return lines[-1] if lines else "it said nothing"
