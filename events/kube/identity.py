"""Every object must bear what tells it from others, so that whoever reads it can at least say which one is odd."""

from typing import Annotated

import msgspec

from events.kube.port import Object

LONGEST = 253
"""Characters that a name may have."""


class _Identity(msgspec.Struct):
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST)]
    namespace: str = ""
    uid: str = ""
    version: str = msgspec.field(name="resourceVersion", default="")


class _Named(msgspec.Struct):
    metadata: _Identity


def named(item: Object) -> Object:
    """The object, if it has a name and whatever else tells it from others is text. Raises msgspec.ValidationError."""
    msgspec.convert(item, _Named)
    return item


def is_named(item: Object) -> bool:
    """Whether it is one that `named` takes."""
    try:
        named(item)
    except msgspec.ValidationError:
        return False
    return True
