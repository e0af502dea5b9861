"""What others wrote may have any shape: what reading an odd one raises is named here, and told without quoting it."""

from pathlib import Path

import msgspec

MALFORMED = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, msgspec.MsgspecError)
"""What reading an object of another shape than the expected one raises."""
LONGEST = 200
"""Characters of a reason that are told."""


def describe(error: Exception) -> str:
    """What is wrong with what was read: where it speaks of a shape, in its words; else what broke where."""
    if isinstance(error, msgspec.ValidationError | ValueError) and str(error) and not isinstance(error, UnicodeError):
        return str(error)[:LONGEST]
    return raised_at(error)


def raised_at(error: BaseException) -> str:
    """Which error was raised where in the code, without what it says: that may quote what nobody shall read."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    at = f" in {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace is not None else ""
    return f"{type(error).__name__}{at}"
