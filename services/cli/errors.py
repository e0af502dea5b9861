"""The sentence and the exit code for every error that can reach the command line."""

import os
import sys
from pathlib import Path

from events.bus import Unavailable
from events.errors import Denied, Fault
from events.jetstream.server import ServerNotStarted
from schemas.crds import InvalidResource
from services.cli.wait import TimedOut
from services.errors import BadInput, Failed
from services.local.folder import Absent, Taken
from services.local.probe import Busy
from services.local.program import NotStarted

FAILED, BAD_INPUT, TIMED_OUT = 1, 2, 3
CODES: tuple[tuple[type[Exception], int], ...] = (
    (BadInput, BAD_INPUT),
    (TimedOut, TIMED_OUT),
    (InvalidResource, BAD_INPUT),
    (Taken, BAD_INPUT),
    (Absent, BAD_INPUT),
    (Busy, BAD_INPUT),
    (Failed, FAILED),
    (Fault, FAILED),
    (Unavailable, FAILED),
    (NotStarted, FAILED),
    (ServerNotStarted, FAILED),
)
REASONS = ("BadKubeconfig", "BadCredentials", "Invalid", "BadRequest")
"""Reasons for a refusal that are the fault of what a person wrote."""


def nobody_reads(error: BaseException) -> bool:
    """Whether the reader of our output has closed it, as `head` does; then nothing more is written."""
    if not isinstance(_first(error), BrokenPipeError):
        return False
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the rest of the buffer goes there at the end
    return True


def described(error: BaseException) -> tuple[str, int]:
    """One sentence and an exit code."""
    error = _first(error)
    if isinstance(error, Denied) and error.reason in REASONS:
        return _line(error), BAD_INPUT
    for kind, code in CODES:
        if isinstance(error, kind):
            return _line(error), code
    return f"this is a bug of alate, at {_place(error)}: {type(error).__name__}: {_line(error)}", FAILED


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else "an unknown place"
