"""Subscriptions as data: which messages a service receives, and which entities each concerns."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeVar

import msgspec

from events.bus import Consumer, Stored
from events.streams import is_tombstone
from schemas.lifecycle import Lifecycle
from schemas.registry import Declaration, Stream, declared
from schemas.subjects import Key, names_of
from services.runtime.machine import Event
from services.runtime.read_model import Decoders

S = TypeVar("S", bound=msgspec.Struct)
EntityTargets = Iterable[tuple[Key, Event]]
MessageRoute = Callable[[tuple[str, ...], Any], EntityTargets]
"""From the subject's names and the message to the entities it concerns, each with the event it means for them."""


@dataclass(frozen=True)
class Subscription:
    """Which messages, on a filter of a stream, concern which entities."""

    stream: Stream
    filter: str
    declarations: tuple[Declaration, ...]
    route: MessageRoute


def subscribe(struct: type[S], route: Callable[[tuple[str, ...], S], EntityTargets]) -> Subscription:
    """Subscribe to one declared message on all of its subjects."""
    declaration = declared(struct)
    return Subscription(declaration.stream, wildcard(declaration.subject), (declaration,), route)


def subscribe_all(lifecycle: Lifecycle, route: MessageRoute) -> Subscription:
    """Subscribe to every state of another service's entities."""
    states = tuple(declared(state) for state in lifecycle.states)
    return Subscription(Stream.EVENTS, f"{lifecycle.domain}.*.*.*", states, route)


def wildcard(subject: str) -> str:
    """The filter that matches every subject of a template: ``a.b.{c}`` becomes ``a.b.*``."""
    return ".".join("*" if part.startswith("{") else part for part in subject.split("."))


def consumers(service: str, domain: str, lines: Iterable[Subscription]) -> tuple[Consumer, ...]:
    """The durable consumers of a service, one per stream, including the timers of its own entities."""
    heard = [(Stream.EVENTS, f"due.{domain}.*.*"), *((line.stream, line.filter) for line in lines)]
    streams = groupby(sorted(heard), key=lambda line: line[0])
    return tuple(
        Consumer(f"{service}-{stream.lower()}", stream, tuple(f for _, f in group)) for stream, group in streams
    )


class Router:
    """Turns stored messages into (entity, event) pairs, by the subscriptions of one service."""

    def __init__(self, lines: Iterable[Subscription]) -> None:
        routes = [(declaration, line.route) for line in lines for declaration in line.declarations]
        self._decoders = Decoders(declaration for declaration, _ in routes)
        self._routes = {tuple(declaration.subject.split(".")[:2]): route for declaration, route in routes}

    def read(self, stored: Stored) -> tuple[tuple[Key, Event], ...]:
        """The entities a message concerns; none for a tombstone and for a subject without subscription.

        Raises Undecodable.
        """
        names = names_of(stored.subject)
        route = self._routes.get(names[:2])
        if route is None or is_tombstone(stored):
            return ()
        return self._decoders.read(stored, lambda message: tuple(route(names, message)))
