"""What an event means in its cluster's history, so that a repeated notification is the same."""

from collections.abc import Iterable
from dataclasses import dataclass

from events.bus import Stored
from schemas.subjects import names_of
from schemas.wire import WireStruct
from schemas.wish import Wish


class ClusterSummary(WireStruct, frozen=True, kw_only=True):
    """What of a cluster's state is told to others."""

    wish: Wish
    message: str = ""


@dataclass(frozen=True)
class ClusterLife:
    """Where one event stands."""

    newest: bool
    """Nothing has been said of the cluster since."""
    was_ready: bool
    """It was ready before, in this life: since it was asked for, or for the first time since it was released."""


def cluster_life(history: Iterable[Stored], id: str) -> ClusterLife:  # noqa: A002 - CloudEvents' own word
    """Of the event with this id; one that is not kept any more is old."""
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
    """Whether what was said with this sequence changes a cluster that was ready just before: counts, or its wish."""
    before = [stored for stored in history if stored.sequence < sequence]
    return bool(before) and names_of(before[-1].subject)[1] == "ready"
