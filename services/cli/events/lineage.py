"""The tree of causes and effects, built from the ids in messages; causes that are no longer kept are shown as such."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import msgspec

from schemas.registry import UNREADABLE, WireStruct
from schemas.subjects import key_of
from services.eventlog.record import EventRecord
from services.queries.item import Item


class Because(StrEnum):
    """Why a message was published."""

    ROOT = "root"
    """Nothing kept says why."""
    CAUSE = "cause"
    """It names the message above as its cause."""
    REQUEST = "request"
    """The wish it follows is replaced by now, but names the request it was made of."""
    ITSELF = "itself"
    """It names no cause: its entity's timer, or work that its last state asked for."""
    REPLACED = "replaced"
    """It names a cause that is no longer kept, a level; it is shown after its entity's last state."""
    REFUSED = "refused"
    """It is the dead letter of the message above."""


@dataclass(eq=False)
class LineageNode:
    """One message, with what it led to."""

    record: EventRecord
    because: Because = Because.ROOT
    parent: "LineageNode | None" = None
    effects: list["LineageNode"] = field(default_factory=list)
    ends: list["LineageNode"] = field(default_factory=list)
    """What it has let go, each by its first state that says so; those have their place in the tree of their entity."""
    release: "LineageNode | None" = None
    """What has let it go, of such a state."""

    def item(self) -> Item:
        """As JSON would have it."""
        record = self.record
        where = {"id": record.id, "subject": record.stored.subject, "place": record.place, "stored": record.stored.time}
        why = {"because": self.because.value, "cause": record.cause}
        ends = {"ends": [each.record.id for each in self.ends]} if self.ends else {}
        release = {"release": self.release.record.id} if self.release else {}
        return {**where, **why, **ends, **release, "effects": [each.item() for each in self.effects]}

    def path(self) -> Iterator["LineageNode"]:
        """Itself, and all that led to it."""
        yield self
        if self.parent is not None:
            yield from self.parent.path()


class _Wish(WireStruct, frozen=True):
    event: str = ""
    release: str = ""


class _Asked(WireStruct, frozen=True):
    wish: _Wish = _Wish()


def request_of(record: EventRecord) -> str:
    """The id of the request that a cluster's state goes back to; empty if there was none."""
    return _wish(record).event


def release_of(record: EventRecord) -> str:
    """The id of the event that lets a cluster go, from its state on; empty if there is none."""
    return _wish(record).release


def _wish(record: EventRecord) -> _Wish:
    try:
        return msgspec.json.decode(record.stored.data, type=_Asked).wish
    except UNREADABLE:
        return _Wish()


def forest(messages: Iterable[EventRecord]) -> list[LineageNode]:
    """Every message of a flow in a tree, oldest first; more than one if something is not kept."""
    grown: list[LineageNode] = []
    by_id: dict[str, list[LineageNode]] = {}
    last: dict[str, LineageNode] = {}
    for record in sorted(messages, key=lambda each: (each.stored.time, each.stored.sequence)):
        node, entity = LineageNode(record), _entity(record)
        before = last.get(entity) if entity else None
        node.because, node.parent = _why(record, by_id, before)
        if node.parent is not None:
            node.parent.effects.append(node)
        if (release := release_of(record)) in by_id and (before is None or release_of(before.record) != release):
            node.release = by_id[release][-1]
            node.release.ends.append(node)
        grown.append(node)
        if (
            record.id and record.stream != "DLQ"
        ):  # a dead letter bears the id of what was refused; a structured event none
            by_id.setdefault(record.id, []).append(node)
        if entity:
            last[entity] = node
    return grown


def _why(
    record: EventRecord, by_id: dict[str, list[LineageNode]], before: LineageNode | None
) -> tuple[Because, LineageNode | None]:
    if record.stream == "DLQ":
        refused = by_id.get(record.id)
        return (Because.REFUSED, refused[-1]) if refused else (Because.ROOT, None)
    # The first release gave one id to all entities of a Colony: of those, the nearest before is meant.
    if causes := by_id.get(record.cause):
        return Because.CAUSE, causes[-1]
    if before is not None and before.because is Because.REQUEST and record.cause == before.record.cause:
        return Because.REQUEST, before.parent  # of the same wish
    if before is not None:
        return (Because.REPLACED if record.cause else Because.ITSELF), before
    if selected := by_id.get(request_of(record)):
        return Because.REQUEST, selected[-1]
    return Because.ROOT, None


def _entity(record: EventRecord) -> str:
    """Whose state it is; empty for what is no state."""
    return key_of(record.stored.subject).history if record.stream == "EVENTS" else ""


def lineage(messages: Sequence[EventRecord], selected: EventRecord | None) -> list[LineageNode]:
    """The trees of a flow: of `asked` what led to it and what came of it, else everything."""
    nodes = forest(messages)
    target = next((node for node in nodes if selected and node.record.place == selected.place), None)
    if target is None:
        return [node for node in nodes if node.parent is None]
    below: LineageNode = target
    for above in list(target.path())[1:]:
        above.effects = [below]
        below = above
    return [below]
