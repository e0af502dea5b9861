"""The table of streams: what each keeps and for how long."""

from dataclasses import dataclass

from events.bus import REDRIVE

DAY = 86_400.0


@dataclass(frozen=True)
class StreamSpec:
    """A stream's subjects and what it forgets."""

    name: str
    subjects: tuple[str, ...]
    max_age: float = 0.0
    """Seconds a message is kept; 0: until it is purged."""
    per_subject: int = -1
    """How many messages are kept per subject; -1: all."""
    schedules: bool = False
    """Holds timers: a schedule's target must be in the same stream."""
    duplicate_window: float = 120.0
    """Seconds in which a repeated ``Nats-Msg-Id`` is stored once."""

    @property
    def taken(self) -> tuple[str, ...]:
        """Its subjects, and those on which its consumers are told something once more: see `events.dead_letter`."""
        return (*self.subjects, f"{REDRIVE}.{self.name}.>")


HOOK = "hook.{provider}.{tenant}.{endpoint}.{delivery}"
"""Subjects of webhook deliveries."""
TOLD = "outbound.{target}.{domain}.{event}.{tenant}.{name}"
"""Subjects of what is to be told to others."""
ENTITIES = ("cluster", "addon", "teardown")

STREAMS = (
    # No age limit: an expired terminal message would bring an older state back. Purged by subject instead.
    StreamSpec("EVENTS", (*(f"{e}.*.*.*" for e in ENTITIES), "timer.>", "due.>"), schedules=True),
    StreamSpec("LEVELS", ("inventory.>", "observed.>"), per_subject=1),
    # What is asked for is little, and asked for twice it would be founded twice: so a week, not minutes.
    StreamSpec(
        "INTAKE",
        (
            "cluster.requested",
            "cluster.requested.*",
            "colony.release.*.*",
            "colony.scale.*.*.*",
            "colony.extend.*.*.*",
        ),
        max_age=14 * DAY,
        duplicate_window=7 * DAY,
    ),
    StreamSpec("HOOKS", ("hook.>",), max_age=14 * DAY),
    # Longer than the last try; what was told stands here, too.
    StreamSpec("OUTBOUND", ("outbound.>",), max_age=7 * DAY),
    StreamSpec("DLQ", ("dlq.>",), max_age=90 * DAY),
    StreamSpec(
        "ADVISORY",
        ("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.>", "$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.>"),
        max_age=30 * DAY,
    ),
)
