"""Stops a process cleanly on SIGTERM and SIGINT."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What asks us to leave: Ctrl-C (also where a shell began us with it ignored), a service manager, a closed terminal."""


async def until_told(work: Coroutine[Any, Any, T]) -> T:
    """Do the work until it ends or one of the signals `ENDS` comes. Raises CancelledError then."""
    task = asyncio.ensure_future(work)
    for end in ENDS:
        asyncio.get_running_loop().add_signal_handler(end, task.cancel)
    return await task
