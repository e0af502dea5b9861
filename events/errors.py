"""The four errors that a port may raise; each says what the caller should do next."""

from dataclasses import dataclass

TOO_LARGE = "TooLarge"
"""The reason for a message that is too large for the bus."""


@dataclass(eq=False)
class Fault(Exception):
    """A failure of a port; `message` is one sentence for people."""

    message: str

    def __str__(self) -> str:
        return self.message


class NoCapacity(Fault):
    """The market has no room: try the next offer."""


class NotFound(Fault):
    """The object does not exist."""


@dataclass(eq=False)
class Denied(Fault):
    """Refused for good (invalid, forbidden, over quota): wait for a change."""

    reason: str = "Denied"
    """CamelCase, as Kubernetes writes reasons."""


@dataclass(eq=False)
class TryLater(Fault):
    """A temporary failure: retry after so many seconds."""

    after: float = 1.0
