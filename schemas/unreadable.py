"""What a decoder says of bytes that others wrote is three things, and whoever reads such bytes must expect them all."""

import msgspec

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""No JSON or not what it should be; text that is no UTF-8; brackets without end."""


def why(error: Exception) -> str:
    """What is wrong with the bytes; a decoder only says that it could go no deeper itself."""
    return "it is nested too deep to be read" if isinstance(error, RecursionError) else str(error)
