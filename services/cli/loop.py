"""Runs a command until it is stopped, cleans up, and ends as Ctrl-C ends a program."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

from services.process.signals import until_told

T = TypeVar("T")


def run(command: Coroutine[Any, Any, T]) -> T:
    """Run it; when it is told to stop everything is left in order, then KeyboardInterrupt."""
    logging.getLogger().addHandler(logging.NullHandler())  # what a library has to say of a lost connection
    try:
        return asyncio.run(until_told(command))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
