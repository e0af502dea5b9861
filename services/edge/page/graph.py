"""Which service publishes and consumes which subjects, with rates, as a graph that Grafana's node graph panel draws."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from events.jetstream.permissions import Role
from services.edge.page.summary import SubjectGroup


class GraphNode(msgspec.Struct, frozen=True):
    """A service, or a group of subjects."""

    id: str
    title: str
    subtitle: str
    mainstat: float
    """Messages a second."""
    detail__snapshot: bool = False
    """Whether the subjects keep only their newest value."""


class GraphEdge(msgspec.Struct, frozen=True):
    """From a publisher to its subjects, or from there to a consumer."""

    id: str
    source: str
    target: str
    mainstat: float


class Graph(msgspec.Struct, frozen=True):
    """The whole."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]


def graph(roles: Iterable[Role], groups: Iterable[SubjectGroup], rates: Mapping[str, float]) -> Graph:
    """Services and subject groups as nodes; publishing and consuming as edges."""
    rows = tuple(groups)
    consumed = {role.name: sorted(_consumed(role, rows)) for role in roles}
    edges = (*_publishing(rows, rates), *_consuming(consumed, rates))
    names = dict.fromkeys((*(row.publisher for row in rows), *(name for name, groups in consumed.items() if groups)))
    sent = {name: sum(edge.mainstat for edge in edges if edge.source == name) for name in names}
    services = (GraphNode(name, name, "service", round(sent[name], 3)) for name in names)
    subjects = (
        GraphNode(f"subject:{row.name}", row.name, "subject", round(rates.get(row.name, 0.0), 3), row.snapshot)
        for row in rows
    )
    return Graph((*services, *subjects), edges)


def _consumed(role: Role, groups: Iterable[SubjectGroup]) -> Iterator[str]:
    """The groups that a service consumes, by the filters of its durable consumers."""
    filters = [each for consumer in role.works for each in consumer.filters]
    for group in groups:
        if any(_matches(each, group.name) for each in filters):
            yield group.name


def _matches(each: str, group: str) -> bool:
    """Whether a filter can match a subject of the group."""
    pairs = zip(each.split("."), group.split("."), strict=False)
    return all(one in (other, "*", ">") for one, other in pairs)


def _publishing(groups: Iterable[SubjectGroup], rates: Mapping[str, float]) -> Iterator[GraphEdge]:
    for row in groups:
        rate = round(rates.get(row.name, 0.0), 3)
        yield GraphEdge(f"{row.publisher}>{row.name}", row.publisher, f"subject:{row.name}", rate)


def _consuming(consumed: Mapping[str, Iterable[str]], rates: Mapping[str, float]) -> Iterator[GraphEdge]:
    for service, groups in consumed.items():
        for group in groups:
            yield GraphEdge(f"{group}>{service}", f"subject:{group}", service, round(rates.get(group, 0.0), 3))
