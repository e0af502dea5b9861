"""What every controller is given from outside: the bus, the time, random numbers and the meters."""

from collections.abc import Callable
from dataclasses import dataclass

from events.bus import Bus, Clock
from events.meters import Meters
from services.runtime.share import WHOLE, Share


@dataclass(frozen=True, slots=True)
class Context:
    """Made once per process by the composition root; controllers hand it on whole."""

    bus: Bus
    clock: Clock
    jitter: Callable[[], float]
    """A random number from 0 to 1, to spread retries."""
    meters: Meters
    share: Share = WHOLE
    """What this replica of the service works on."""
