"""Whoever fails again and again asks less and less often, and not at the same time as all others."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Patience:
    """How long to wait before asking again: doubling, half of it by chance, never over `cap` seconds."""

    random: Callable[[], float]
    """Gives 0 to 1."""
    base: float = 0.2
    cap: float = 30.0
    failures: int = 0

    def failed(self, asked: float = 0.0) -> float:
        """Count a failure; gives the seconds to wait, no fewer than were `asked` for."""
        full = min(self.cap, self.base * 2.0 ** min(self.failures, 16))
        self.failures += 1
        return max(asked, full * (0.5 + 0.5 * self.random()))
