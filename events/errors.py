"""The four errors that a port may raise; each says what the caller should do next."""

from dataclasses import dataclass

TOO_LARGE = "TooLarge"
"""The reason of a message that the bus does not take for its size."""


@dataclass(eq=False)
class Fault(Exception):
    """What a port could not do; `message` is one clear sentence for people."""

    message: str

    def __str__(self) -> str:
        return self.message


class NoCapacity(Fault):
    """The market has none of it: take the next offer."""


class NotFound(Fault):
    """It is not there: what was to be deleted is gone, what was to be read does not exist."""


@dataclass(eq=False)
class Denied(Fault):
    """It was refused for good (invalid, forbidden, over quota): wait for another wish."""

    reason: str = "Denied"
    """CamelCase, as Kubernetes writes reasons."""


@dataclass(eq=False)
class TryLater(Fault):
    """It cannot be said yet: ask again after so many seconds."""

    after: float = 1.0
