"""What a decoder says of bytes that others wrote is three things, and whoever reads such bytes must expect them all."""

import msgspec

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""No JSON or not what it should be; text that is no UTF-8; brackets without end."""
