"""NATS says no on a line of its own, apart from any question: here it is read, so that the question learns of it."""

import re
from typing import NamedTuple

from events.errors import Denied

_VIOLATION = re.compile(r'permissions violation for (publish|subscription) to "([^"]+)"', re.IGNORECASE)
REASON = "Permissions"


class Refusal(NamedTuple):
    """What the server does not let this connection do."""

    listening: bool
    """True: it may not listen there; False: it may not publish there."""
    subject: str
    """In small letters, as nats-py has it."""

    def denied(self, place: str, who: str, subject: str) -> Denied:
        """The fault, in one sentence; `subject` as it was asked for."""
        act = "listen to" if self.listening else "publish on"
        why = "the key it shows has no such right"
        return Denied(f"NATS at {place} does not allow {who} to {act} {subject}: {why}", REASON)


def refusal(error: Exception) -> Refusal | None:
    """What an error of the connection refuses, if it is a refusal."""
    found = _VIOLATION.search(str(error))
    return Refusal(found[1].lower() == "subscription", found[2].lower()) if found else None
