"""Provisioning's decisions and their events, so that the command line can decide again without its insides."""

from services.provisioning.lifecycle.decide import decide
from services.provisioning.service import SUBSCRIPTIONS

__all__ = ["SUBSCRIPTIONS", "decide"]
