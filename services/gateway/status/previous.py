"""A status that others wrote may have any shape: what was shown is read back only where it is what we write."""

from datetime import datetime

import msgspec

from events.kube.port import Object
from services.kubernetes.object_types import Shape


class _Condition(Shape):
    type: str
    status: str
    last_transition_time: datetime | None = None


class _Cluster(Shape):
    name: str
    conditions: list[_Condition] | None = None


class _Status(Shape):
    conditions: list[_Condition] | None = None
    clusters: list[_Cluster] | None = None


class _Colony(Shape):
    status: _Status | None = None


def readable(colony: Object) -> Object:
    """The Colony; without its status, if that is of a shape that we never write: it is written anew."""
    try:
        msgspec.convert(colony, _Colony)
    except msgspec.ValidationError:
        return {key: value for key, value in colony.items() if key != "status"}
    return colony
