"""The teardown's decisions and their events, so that the command line can decide again without its insides."""

from services.teardown.decide import decide
from services.teardown.service import SUBSCRIPTIONS

__all__ = ["SUBSCRIPTIONS", "decide"]
