"""The teardown's decisions and their events, so that the command line imports nothing else of it."""

from services.teardown.decide import decide
from services.teardown.service import SUBSCRIPTIONS

__all__ = ["SUBSCRIPTIONS", "decide"]
