"""Keeps a cancellation that comes in the moment of a failure."""

import asyncio


def raise_if_cancelled() -> None:
    """Raise CancelledError if the current task was cancelled.

    A TaskGroup whose own tasks fail while its task is cancelled raises their errors alone: who catches these and goes
    on would run for ever, and who waits for its end would wait for ever.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
