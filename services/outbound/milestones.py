"""What an event means in its cluster's history, so that a repeated notification is the same."""

from collections.abc import Iterable
from dataclasses import dataclass

from events.bus import Stored
from schemas.subjects import names_of
from schemas.wire import WireStruct
from schemas.wish import Wish


class ClusterSummary(WireStruct, frozen=True, kw_only=True):
    """The parts of a cluster's state that are published to others."""

    wish: Wish
    message: str = ""


@dataclass(frozen=True)
class ClusterLife:
    """The position of an event in its cluster's life."""

    newest: bool
    """Whether it is the cluster's newest event."""
    was_ready: bool
    """Whether the cluster was ready before in this life."""


def cluster_life(history: Iterable[Stored], id: str) -> ClusterLife:  # noqa: A002 - CloudEvents' own word
    """The position of the event with this id; one that is no longer stored is old."""
    was_ready, found = False, None
    for stored in history:
        if found is not None:
            return ClusterLife(newest=False, was_ready=found.was_ready)
        if stored.headers.get("ce-id") == id:
            found = ClusterLife(newest=True, was_ready=was_ready)
        event = names_of(stored.subject)[1]
        was_ready = event == "ready" or (was_ready and event != "released")
    return found or ClusterLife(newest=False, was_ready=was_ready)


def stayed_ready(history: Iterable[Stored], sequence: int) -> bool:
    """Whether the event with this sequence changes a cluster that was ready just before it."""
    before = [stored for stored in history if stored.sequence < sequence]
    return bool(before) and names_of(before[-1].subject)[1] == "ready"
