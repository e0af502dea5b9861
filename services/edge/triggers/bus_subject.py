"""Which messages of other services Triggers can hear, and what their subjects say."""

from collections.abc import Iterable, Mapping
from functools import cache

import msgspec

from events.bus import Consumer
from events.cloudevents import Malformed
from events.streams import ENTITIES
from schemas.crds import HeardSpec, InvalidResource
from schemas.discover import lifecycles
from schemas.registry import Stream, declarations
from schemas.subjects import names_of

LEVELS = ("inventory.cluster", "inventory.nodes", "inventory.storage")
"""Levels of one cluster that Triggers can hear."""
OBJECT = "observed.object"
"""Objects of clusters, each watched for one Trigger, which alone hears it."""
EVENTS_CONSUMER = Consumer("edge-events", Stream.EVENTS, tuple(f"{entity}.*.*.*" for entity in ENTITIES))
LEVELS_CONSUMER = Consumer(
    "edge-levels",
    Stream.LEVELS,
    ("inventory.cluster.*.*", "inventory.nodes.*.*.*", "inventory.storage.*.*.*", f"{OBJECT}.*.*.*.*.*"),
)
"""The consumers that give messages to Triggers."""


class BusSubject(msgspec.Struct, frozen=True, tag=True):
    """The subject of a message of another service."""

    subject: str
    stream: str
    kind: str
    """Its first two tokens, e.g. ``cluster.ready``."""
    tenant: str
    names: tuple[str, ...]
    """The names after the tenant: of the entity, or of the cluster and a thing in it."""

    @property
    def cluster(self) -> str:
        """The cluster that it is about; an add-on's name begins with its cluster's, a dot after it."""
        return self.names[0].partition(".")[0]

    @property
    def trigger(self) -> str:
        """The only Trigger that hears it; empty: any may."""
        return self.names[1] if self.kind == OBJECT else ""

    def matches(self, wanted: HeardSpec) -> bool:
        """Whether a Trigger that wants this hears it."""
        pattern = wanted.event if self.stream == Stream.EVENTS else wanted.level
        return pattern is not None and _matches(pattern, self.kind)

    def variables(self) -> Mapping[str, str]:
        """What rules see of it."""
        last = "name" if self.stream == Stream.EVENTS else self.kind.partition(".")[2].removesuffix("s")
        named = {last: self.names[-1]} if self.stream == Stream.EVENTS or len(self.names) > 1 else {}
        return {"subject": self.subject, "kind": self.kind, "tenant": self.tenant, "cluster": self.cluster, **named}


def read_subject(subject: str) -> BusSubject:
    """Read a subject. Raises Malformed for one that Triggers cannot hear."""
    domain, *names = names_of(subject)
    names = names[1:]
    kind = kind_of(subject)
    if len(names) == 2 and domain in ENTITIES:
        return BusSubject(subject, Stream.EVENTS.value, kind, names[0], tuple(names[1:]))
    if (len(names) >= 2 and kind in LEVELS) or (len(names) == 5 and kind == OBJECT):
        return BusSubject(subject, Stream.LEVELS.value, kind, names[0], tuple(names[1:]))
    raise Malformed(f"{subject} is no subject of an entity or of a cluster's inventory")


def kind_of(subject: str) -> str:
    """The first two tokens of a subject, e.g. ``cluster.ready``."""
    return ".".join(subject.split(".", 2)[:2])


def check_heard(wanted: Iterable[HeardSpec]) -> None:
    """Refuse what matches no message. Raises InvalidResource."""
    for place, each in enumerate(wanted):
        pattern, known = each.event or each.level or "", kinds() if each.event else LEVELS
        if not any(_matches(pattern, kind) for kind in known):
            field = "event" if each.event else "level"
            alike = [kind for kind in known if kind.split(".")[0] == pattern.split(".")[0]]
            raise InvalidResource(
                f"spec.messages[{place}].{field} is {pattern}: must match one of {', '.join(alike or known)}"
            )


@cache
def kinds() -> tuple[str, ...]:
    """Every transition of every entity, such as ``cluster.ready``."""
    lifecycles()  # they are declared now
    return tuple(f"{each.domain}.{each.event}" for each in declarations() if each.stream is Stream.EVENTS)


def _matches(pattern: str, kind: str) -> bool:
    return all(want in ("*", have) for want, have in zip(pattern.split("."), kind.split("."), strict=True))
