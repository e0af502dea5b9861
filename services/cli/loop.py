"""A command that runs until it is told to stop cleans up, whichever way it is told."""

import asyncio
import logging
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What asks us to leave: Ctrl-C (also where a shell began us with it ignored), a service manager, a closed terminal."""


def run(command: Coroutine[Any, Any, T]) -> T:
    """Run it; at each of `ENDS` everything is left in order, then KeyboardInterrupt."""
    logging.getLogger().addHandler(logging.NullHandler())  # what a library has to say of a lost connection
    try:
        return asyncio.run(_until_told(command))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def _until_told(command: Coroutine[Any, Any, T]) -> T:
    task = asyncio.ensure_future(command)
    for end in ENDS:
        asyncio.get_running_loop().add_signal_handler(end, task.cancel)
    return await task
