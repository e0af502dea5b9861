"""The base of everything that goes over the bus: attributes in snake_case, JSON fields in the CRD's camelCase."""

import re
from typing import Any, Self

import msgspec

_WORD = re.compile("_([a-z0-9])")


def wire_name(attribute: str) -> str:
    """The JSON field of an attribute, as the Colony's CRD would spell it: ``memory_gib`` is ``memoryGiB``."""
    name = _WORD.sub(lambda found: found[1].upper(), attribute)
    return name.replace("Gib", "GiB").replace("Mib", "MiB")


class WireStruct(msgspec.Struct, frozen=True, rename=wire_name):
    """A message, or a part of one."""

    def but(self, **fields: Any) -> Self:  # noqa: ANN401 - the struct's own fields
        """The same with other values in these fields; TypeError for a field that it does not have."""
        return msgspec.structs.replace(self, **fields)


UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""No JSON or not what it should be; text that is no UTF-8; brackets without end."""


def why(error: Exception) -> str:
    """What is wrong with the bytes; a decoder only says that it could go no deeper itself."""
    return "it is nested too deep to be read" if isinstance(error, RecursionError) else str(error)
