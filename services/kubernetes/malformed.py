"""The errors that reading a malformed object raises, and how they are reported without quoting the object."""

from pathlib import Path

import msgspec

MALFORMED = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, msgspec.MsgspecError)
"""Raised by reading an object that has another shape than expected."""
LONGEST = 200
"""The most characters of a reason."""


def describe(error: Exception) -> str:
    """What is wrong with the object: the text of an error about its shape, otherwise the error's name and place."""
    if isinstance(error, msgspec.ValidationError | ValueError) and str(error) and not isinstance(error, UnicodeError):
        return str(error)[:LONGEST]
    return raised_at(error)


def raised_at(error: BaseException) -> str:
    """Which error was raised where in the code, without its text, which may quote secrets."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    at = f" in {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace is not None else ""
    return f"{type(error).__name__}{at}"
