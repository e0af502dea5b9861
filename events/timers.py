"""A timer that is set tells its time, so that a service that boots need not set it again."""

from events.bus import Timer

SCHEDULE = "Nats-Schedule"
"""The header of a timer's message that says when: ``@at <RFC 3339>`` (ADR-51 of nats-architecture-and-design)."""


def schedule(timer: Timer) -> dict[str, str]:
    """That header, as both adapters keep it."""
    return {SCHEDULE: f"@at {timer.at.isoformat()}"}
