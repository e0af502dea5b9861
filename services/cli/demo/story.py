"""What the demo knows from the bus: every state of every entity, and the newest levels."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

import msgspec

from events.bus import Stored
from events.streams import is_tombstone
from schemas import addon, cluster, inventory, teardown
from schemas.entity import State
from schemas.inventory import ClusterSeen, NodeSeen, Offer, Offers
from schemas.registry import declarations
from schemas.subjects import Key, names_of

LIFECYCLES = (cluster.LIFECYCLE, addon.LIFECYCLE, teardown.LIFECYCLE)
FILTERS = {
    "EVENTS": tuple(f"{lifecycle.domain}.*.*.*" for lifecycle in LIFECYCLES),
    "LEVELS": (f"{inventory.OWNER}.>",),
}
"""What is listened to, by stream."""
SHAPES = {(each.domain, each.event): each.struct for each in declarations()}


class DemoEvent(NamedTuple):
    """One message that says something new."""

    names: tuple[str, ...]
    """The tokens of its subject."""
    content: msgspec.Struct
    at: datetime
    """When the server stored it."""


Listener = Callable[[DemoEvent], None]


@dataclass
class Story:
    """See the file's first line."""

    states: dict[Key, list[State]] = field(default_factory=dict)
    """Each entity's states, oldest first; what comes again after a reconnect is kept once."""
    nodes: dict[tuple[str, str], NodeSeen] = field(default_factory=dict)
    """By cluster and node."""
    clusters: dict[str, ClusterSeen] = field(default_factory=dict)
    offers: dict[tuple[str, str], tuple[Offer, ...]] = field(default_factory=dict)
    """By cloud and region."""
    listeners: list[Listener] = field(default_factory=list)
    _newest: dict[str, int] = field(default_factory=dict)

    def receive(self, stored: Stored) -> None:
        """Keep a message, and call the listeners if it says something new."""
        if self._newest.get(stored.subject, 0) >= stored.sequence or is_tombstone(stored):
            return
        self._newest[stored.subject] = stored.sequence
        event = read(stored)
        if event is not None and self._take(event):
            for listener in self.listeners:
                listener(event)

    def now(self, key: Key) -> State | None:
        """An entity's last state."""
        return self.states[key][-1] if key in self.states else None

    def domain(self, domain: str) -> Mapping[str, State]:
        """The last state of every entity of a domain, by name."""
        return {key.name: states[-1] for key, states in self.states.items() if key.domain == domain}

    @property
    def transitions(self) -> int:
        """How many states were decided."""
        return sum(map(len, self.states.values()))

    def _take(self, event: DemoEvent) -> bool:
        names, content = event.names, event.content
        match content:
            case State():
                self.states.setdefault(Key(names[0], names[2], names[3]), []).append(content)
            case NodeSeen():
                self.nodes[names[3], content.node] = content
            case ClusterSeen():
                before, self.clusters[content.cluster] = self.clusters.get(content.cluster), content
                return before != content
            case Offers():
                self.offers[content.cloud, content.region] = content.offers
        return True


def read(stored: Stored) -> DemoEvent | None:
    """Decode a message by its subject; None if it is none of those that are shown."""
    names = names_of(stored.subject)
    shape = SHAPES.get((names[0], names[1])) if len(names) > 1 else None
    return DemoEvent(names, msgspec.json.decode(stored.data, type=shape), stored.time) if shape else None


def spans(states: Sequence[State], name: Callable[[State], str]) -> dict[str, float]:
    """Seconds spent in each state, in the order they were entered; the last state has no end yet."""
    found: dict[str, float] = {}
    for one, following in pairwise(states):
        found[name(one)] = found.get(name(one), 0.0) + (following.since - one.since).total_seconds()
    return found


def event_of(state: State) -> str:
    """A state's name on the wire, e.g. ``ready``."""
    return NAMES[type(state)]


NAMES: Mapping[type, str] = {each.struct: each.event for each in declarations()}
