"""A context for what is tested alone: jitter is one half, and the meters are its own unless given."""

from collections.abc import Callable
from typing import Any

from events.bus import Clock
from events.meters import Meters
from services.runtime.context import Context
from services.runtime.share import WHOLE, Share


def context(
    bus: Any,
    clock: Clock,
    meters: Meters | None = None,
    jitter: Callable[[], float] = lambda: 0.5,
    share: Share = WHOLE,
) -> Context:
    """See `services.runtime.context.Context`."""
    return Context(bus, clock, jitter, meters or Meters(), share)
