"""The sentence and the exit code for every error that can reach the command line."""

import os
import sys
from pathlib import Path

from events.errors import Denied

FAILED, BAD_INPUT, TIMED_OUT = 1, 2, 3
CODES = {
    "services.errors.BadInput": BAD_INPUT,
    "services.cli.wait.TimedOut": TIMED_OUT,
    "schemas.crds.model.InvalidResource": BAD_INPUT,
    "services.local.folder.Taken": BAD_INPUT,
    "services.local.folder.Absent": BAD_INPUT,
    "services.local.probe.Busy": BAD_INPUT,
    "services.errors.Failed": FAILED,
    "events.errors.Fault": FAILED,
    "events.bus.Unavailable": FAILED,
    "services.local.program.NotStarted": FAILED,
    "events.jetstream.server.ServerNotStarted": FAILED,
}
"""Exit codes by the class of an error, named so that an error loads no more than what raised it."""
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
    codes = (CODES[name] for kind in type(error).__mro__ if (name := f"{kind.__module__}.{kind.__qualname__}") in CODES)
    if (code := next(codes, None)) is not None:
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
