"""Parses a request's path, query and headers."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from events.kube.client import Request
from services.sandbox.api.schema.kinds import ServedKind
from services.sandbox.api.store.store import ObjectKey, Topic

RequestClock = Callable[[], datetime]

_TRUE = {"1", "t", "T", "TRUE", "true", "True"}  # what Go's strconv.ParseBool takes


class ResourcePath(NamedTuple):
    """The parts of a path below the cluster; a missing part is empty."""

    group: str = ""
    version: str = ""
    plural: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def place(path: str) -> ResourcePath | None:
    """Parse ``/api/v1/...`` or ``/apis/<group>/<version>/...``; None for any other path."""
    match path.strip("/").split("/"):
        case ["api", version, *rest]:
            return _within("", version, rest)
        case ["apis", group, version, *rest]:
            return _within(group, version, rest)
    return None


def _within(group: str, version: str, rest: list[str]) -> ResourcePath | None:
    match rest:
        case ["namespaces", namespace, plural, *more] if plural not in ("status", "finalize"):
            named = (plural, namespace, *more)
        case [plural, *more]:
            named = (plural, "", *more)
        case _:
            named = ()
    return ResourcePath(group, version, *named) if len(named) <= len(ResourcePath._fields) - 2 else None


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request for objects of one kind in one cluster."""

    request: Request
    cluster: str
    kind: ServedKind
    place: ResourcePath

    @property
    def topic(self) -> Topic:
        return Topic(self.cluster, self.kind.group, self.kind.plural)

    def key(self, name: str = "") -> ObjectKey:
        return ObjectKey(*self.topic, self.place.namespace, name or self.place.name)

    def flag(self, name: str) -> bool:
        return self.request.query.get(name, "") in _TRUE

    @property
    def dry(self) -> bool:
        """Whether nothing is written (``dryRun=All``)."""
        return self.request.query.get("dryRun") == "All"

    def header(self, name: str) -> str:
        """A header, whatever its case."""
        given = self.request.headers
        return given.get(name) or next((v for k, v in given.items() if k.lower() == name.lower()), "")

    @property
    def media(self) -> str:
        """The body's media type, without parameters."""
        return self.header("Content-Type").partition(";")[0].strip() or "application/json"

    @property
    def manager(self) -> str:
        """The field manager of the request, or else the client's name."""
        return self.request.query.get("fieldManager") or self.header("User-Agent").partition("/")[0] or "unknown"


def stamp(clock: RequestClock) -> str:
    """Now, as Kubernetes writes times."""
    return f"{clock():%Y-%m-%dT%H:%M:%SZ}"
