"""What an add-on reports while it waits: each reason once, then no more until it changes."""

from events.errors import TryLater
from schemas.addon import AddonPending, ApplyAddon, WithdrawAddon
from services.addons.objects.faults import MissingPrerequisite, NotReady
from services.runtime.machine import Event, Waits

GATED = 30.0
"""Seconds between two looks at what an add-on waits for; a change of it is noticed at once."""


def waits_to_go(command: WithdrawAddon, waits: str) -> tuple[Event, ...]:
    """Report once what its withdrawal waits for. Raises TryLater afterwards."""
    if waits == command.told:
        raise TryLater(waits, GATED)
    return (AddonPending(command.digest, waits),)


def gated(command: ApplyAddon, waits: str) -> tuple[Event, ...]:
    """Report once what it waits for. Raises TryLater afterwards."""
    if command.gated and waits == command.told:
        raise TryLater(waits, GATED)
    return (AddonPending(command.digest, waits, gated=True),)


def lacks(command: ApplyAddon, later: TryLater, lacking: str) -> tuple[Event, ...]:
    """What people do not know yet. Raises the same error again if there is nothing new, Waits with what it awaits."""
    if isinstance(later, MissingPrerequisite):
        lacking = later.message
    if command.overdue:
        return (AddonPending(command.digest, later.message),)
    if lacking and lacking == command.told and not command.gated:
        raise later
    if not lacking and not command.gated:
        written = isinstance(later, NotReady)
        awaits = AddonPending(command.digest, later.message, progress=True, written=written)
        raise Waits(later.message, later.after, event=awaits)
    return (AddonPending(command.digest, lacking),)
