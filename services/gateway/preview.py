"""What the command line needs of the gateway to show a cluster as its Colony's status does."""

from services.gateway.status.facts import Facts, phase
from services.gateway.status.message import message, skipped_steps

__all__ = ["Facts", "message", "phase", "skipped_steps"]
