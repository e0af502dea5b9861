"""A table of how long everything takes."""

from dataclasses import dataclass, fields
from functools import cached_property


@dataclass(frozen=True)
class Pace:
    """Durations in seconds."""

    settle: float = 0.2
    """From a cluster's creation to its first conditions."""
    control_plane: float = 2.0
    node: float = 1.0
    """From one machine's joining to the next one's."""
    leave: float = 0.3
    """From a machine's delete to its end."""
    pod: float = 4.0
    """How long a Job's pod runs, unless its annotation sets it."""

    @cached_property
    def instant(self) -> bool:
        """Nothing takes any time."""
        return not any(getattr(self, each.name) for each in fields(self))

    def times(self, factor: float) -> "Pace":
        """Every duration times a factor; 0: no delays."""
        return Pace(**{each.name: getattr(self, each.name) * factor for each in fields(self)})
