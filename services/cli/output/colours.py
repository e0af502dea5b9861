"""Colours on a terminal, and nowhere else: titles bold, states green, yellow or red."""

import os
from collections.abc import Mapping
from typing import IO

BOLD, RED, GREEN, YELLOW, DIM = "1", "31", "32", "33", "2"
STATES = {
    GREEN: ("ready", "applied", "true", "healthy", "sent", "fresh"),
    RED: ("stalled", "stuck", "invalid", "degraded", "false", "addons-degraded", "addonsdegraded", "unhealthy"),
    DIM: ("released", "withdrawn", "gone", "hibernated"),
    YELLOW: (
        "requested",
        "pending",
        "placing",
        "waiting",
        "launching",
        "provisioned",
        "releasing",
        "deleting",
        "draining",
        "cleaning",
        "applying",
        "stale",
    ),
}
COLOURS: Mapping[str, str] = {word: colour for colour, words in STATES.items() for word in words}
COLOURED = ("STATE", "PHASE", "READY", "HEALTH", "FRESH")
"""Titles of columns whose cells are states."""


def coloured(stream: IO[str]) -> bool:
    """Whether colours are wanted there: it is a terminal that knows them, and ``NO_COLOR`` is not set."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def painted(title: str, cell: str) -> str:
    """A padded cell of a column, coloured if it is a title or a state."""
    text = cell.rstrip()
    colour = BOLD if text == title else COLOURS.get(text.lower()) if title in COLOURED else None
    return f"{paint(text, colour)}{cell[len(text) :]}" if colour and text else cell


def paint(text: str, colour: str) -> str:
    """The text between the codes of a colour."""
    return f"\x1b[{colour}m{text}\x1b[0m"
