"""Why an add-on's objects cannot be written, each reason by its name."""

from dataclasses import dataclass

from events.errors import Denied, TryLater

AGAIN = 1.0
"""Seconds between two looks at objects that are starting, or being deleted."""
CONTESTED = 10.0
"""Seconds until an add-on looks again whether an object's owner has left it."""


class MissingPrerequisite(TryLater):
    """Something it needs does not exist and may never come by itself: people are told."""


class NotReady(TryLater):
    """All objects are written, and one of them, or a rule about them, is not ready yet."""


class HeldBack(TryLater):
    """Nothing may be written yet, and its time does not run; the message says what it waits for."""


@dataclass(eq=False)
class OwnedByAnother(MissingPrerequisite):
    """An object belongs to another add-on whose priority is not worse."""

    owner: str = ""


class DeletionLimit(Denied):
    """More objects would be deleted than an add-on may delete without approval."""


class RecreateRefused(Denied):
    """An immutable field differs, and the object may not be deleted to be created again."""
