"""Who talks to whom, as a graph that Grafana's node graph panel can draw: from the roles, with what was seen."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from events.jetstream.permissions import Role
from services.edge.page.brief import Lane


class Node(msgspec.Struct, frozen=True):
    """A service, or a lane of what is said."""

    id: str
    title: str
    subtitle: str
    mainstat: float
    """Messages a second."""


class Edge(msgspec.Struct, frozen=True):
    """From who says it to where it is said, or from there to who hears it."""

    id: str
    source: str
    target: str
    mainstat: float


class Graph(msgspec.Struct, frozen=True):
    """The whole."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


@dataclass(frozen=True)
class Ears:
    """What one service works off or reads, by lane."""

    service: str
    lanes: frozenset[str]


def ears(roles: Iterable[Role], lanes: Iterable[Lane]) -> tuple[Ears, ...]:
    """Who hears which lane: by the filters of its durable consumers."""
    heads = [lane.lane for lane in lanes]
    return tuple(Ears(role.name, frozenset(_heard(role, heads))) for role in roles)


def _heard(role: Role, heads: Iterable[str]) -> Iterator[str]:
    filters = [each for consumer in role.works for each in consumer.filters]
    for head in heads:
        if any(_begins(each, head) for each in filters):
            yield head


def _begins(each: str, head: str) -> bool:
    """Whether a filter can match a subject of the lane."""
    pairs = zip(each.split("."), head.split("."), strict=False)
    return all(one in (other, "*", ">") for one, other in pairs)


def graph(roles: Iterable[Role], lanes: Iterable[Lane], rates: Mapping[str, float]) -> Graph:
    """Services and lanes as nodes; saying and hearing as edges."""
    rows = tuple(lanes)
    heard = ears(roles, rows)
    edges = (*_saying(rows, rates), *_hearing(heard, rates))
    names = dict.fromkeys((*(row.owner for row in rows), *(each.service for each in heard if each.lanes)))
    said = {name: sum(edge.mainstat for edge in edges if edge.source == name) for name in names}
    services = (Node(name, name, "service", round(said[name], 3)) for name in names)
    subjects = (Node(f"lane:{row.lane}", row.lane, "subject", round(rates.get(row.lane, 0.0), 3)) for row in rows)
    return Graph((*services, *subjects), edges)


def _saying(rows: Iterable[Lane], rates: Mapping[str, float]) -> Iterator[Edge]:
    for row in rows:
        yield Edge(f"{row.owner}>{row.lane}", row.owner, f"lane:{row.lane}", round(rates.get(row.lane, 0.0), 3))


def _hearing(heard: Iterable[Ears], rates: Mapping[str, float]) -> Iterator[Edge]:
    for each in heard:
        for lane in sorted(each.lanes):
            yield Edge(f"{lane}>{each.service}", f"lane:{lane}", each.service, round(rates.get(lane, 0.0), 3))
