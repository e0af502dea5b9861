"""The add-on service's decisions and their events, so that the command line can decide again without its insides."""

from services.addons.decide import decide
from services.addons.service import SUBSCRIPTIONS

__all__ = ["SUBSCRIPTIONS", "decide"]
