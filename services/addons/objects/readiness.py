"""How far an object is, and how to read its status without trusting that it is well formed."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from events.kube.port import Object

LONGEST = 512
"""Characters of what an object says about itself."""


class Readiness(StrEnum):
    """How far an object is."""

    READY = "Ready"
    WAITING = "Waiting"
    STUCK = "Stuck"
    """Its controller gave up, and takes it up again when something changes."""
    FAILED = "Failed"
    """Waiting will not make it ready."""


@dataclass(frozen=True)
class ObjectHealth:
    """What an object's status says."""

    readiness: Readiness
    message: str = ""
    """What it waits for, or what went wrong."""

    @property
    def well(self) -> bool:
        """Whether it works."""
        return self.readiness is Readiness.READY

    @property
    def failed(self) -> bool:
        """Whether waiting will not make it ready."""
        return self.readiness is Readiness.FAILED


READY = ObjectHealth(Readiness.READY)


def waiting(message: str) -> ObjectHealth:
    """It is on its way."""
    return ObjectHealth(Readiness.WAITING, message)


def status_of(seen: Object) -> Object:
    """The status; empty if there is none."""
    return mapping(seen, "status")


def mapping(of: Object, name: str) -> Object:
    """A field that should be an object; empty if it is not."""
    value = of.get(name)
    return value if isinstance(value, dict) else {}


def number(of: Object, name: str, default: int = 0) -> int:
    """A field that should be a number; `default` if it is not."""
    value = of.get(name)
    return value if isinstance(value, int) else default


def conditions_of(seen: Object) -> Mapping[str, Object]:
    """The conditions of its status, by type."""
    listed = status_of(seen).get("conditions")
    if not isinstance(listed, list):
        return {}
    return {str(one["type"]): one for one in listed if isinstance(one, dict) and "type" in one}


def told(condition: Object, otherwise: str) -> str:
    """What a condition says, or else what is to be said for it."""
    return str(condition.get("message") or condition.get("reason") or otherwise)[:LONGEST]


def kind_of(seen: Object) -> tuple[str, str]:
    """Its group and kind."""
    return str(seen["apiVersion"]).rpartition("/")[0], str(seen["kind"])
