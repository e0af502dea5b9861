"""Field ownership (managedFields) and server-side apply."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from msgspec.json import decode, encode

from events.kube.client import Object
from services.sandbox.api.schema.fields import (
    FieldPath,
    FieldSet,
    compare,
    dotted,
    every,
    from_v1,
    merged,
    owned,
    to_v1,
    without,
)
from services.sandbox.api.status import FieldError, apply_conflict

# What the server says of an object, and what names it, belongs to nobody.
_NOBODYS = {
    ("f:apiVersion",), ("f:kind",), ("f:metadata",),
    *(("f:metadata", f"f:{name}") for name in (
        "name", "namespace", "uid", "generation", "resourceVersion", "managedFields", "creationTimestamp",
        "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink",
    )),
}  # fmt: skip


class Manager(NamedTuple):
    """One owner: a name, how it writes, and where."""

    name: str
    operation: str
    api_version: str
    subresource: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        """The identity of an owner; for apply it is the same in every version."""
        return (self.name, self.operation, "" if self.operation == "Apply" else self.api_version, self.subresource)

    def __str__(self) -> str:
        where = f' with subresource "{self.subresource}"' if self.subresource else ""
        using = f" using {self.api_version}" if self.operation == "Update" else ""
        return f'"{self.name}"{where}{using}'


@dataclass(frozen=True, slots=True)
class Hand:
    """The manager of the current write."""

    by: Manager
    now: str
    force: bool = False
    """Takes ownership instead of raising a conflict."""


@dataclass(slots=True)
class Ownership:
    """All owners of one object."""

    entries: dict[tuple[str, ...], tuple[Manager, FieldSet, str]] = field(default_factory=dict)

    @classmethod
    def read(cls, managed: Iterable[Object]) -> "Ownership":
        found = cls()
        for entry in managed:
            if not entry.get("manager") or not isinstance(entry.get("fieldsV1"), dict):
                continue
            name, operation = entry["manager"], entry.get("operation", "Update")
            manager = Manager(name, operation, entry.get("apiVersion", ""), entry.get("subresource", ""))
            found.put(manager, _read(encode(entry["fieldsV1"])), entry.get("time", ""))
        return found

    def put(self, manager: Manager, fields: FieldSet, time: str) -> None:
        if fields:
            self.entries[manager.key] = (manager, fields, time)
        else:
            self.entries.pop(manager.key, None)

    def fields(self, manager: Manager) -> FieldSet:
        return self.entries[manager.key][1] if manager.key in self.entries else frozenset()

    def since(self, manager: Manager) -> str:
        """When the manager last changed something; empty if never."""
        return self.entries[manager.key][2] if manager.key in self.entries else ""

    def written(self) -> list[Object]:
        """As ``metadata.managedFields``."""
        entries = sorted(self.entries.values(), key=lambda e: (e[0].operation, e[2], e[0]))
        return [_entry(*entry) for entry in entries]

    def take(self, paths: set[FieldPath], by: Manager | None) -> None:
        """Remove these paths from all owners, or from all but one."""
        for manager, fields, time in list(self.entries.values()):
            if (by is None or manager.key != by.key) and fields & paths:
                self.put(manager, fields - paths, time)


def _entry(manager: Manager, fields: FieldSet, time: str) -> Object:
    where = {"subresource": manager.subresource} if manager.subresource else {}
    head = {"manager": manager.name, "operation": manager.operation, "apiVersion": manager.api_version}
    since = {"time": time} if time else {}
    return {**head, **since, "fieldsType": "FieldsV1", "fieldsV1": _written(fields), **where}


# Objects of one kind that live the same life are owned alike: what is read or written once serves for all.
_written = lru_cache(maxsize=1024)(to_v1)


@lru_cache(maxsize=1024)
def _read(fields: bytes) -> FieldSet:
    return frozenset(from_v1(decode(fields)))


def starting(old: Object | None, new: Object, *, subresource: bool) -> Ownership:
    """The ownership before an update; a client that sends managedFields to the object itself sets it."""
    sent = new.get("metadata", {}).get("managedFields")
    if not subresource and sent is not None and sent in ([], [{}]):
        return Ownership()
    kept = (old or new)["metadata"].get("managedFields") or []
    return Ownership.read(kept if subresource or not sent else sent)


def unowned(live: Object, schema: Object, api_version: str, now: str) -> Ownership:
    """Ownership for an object without any, as before its first apply."""
    found = Ownership()
    manager = Manager("before-first-apply", "Update", api_version)
    found.put(manager, frozenset(every(live, schema)) - _NOBODYS, now)
    return found


def updated(old: Object, new: Object, schema: Object, ownership: Ownership, hand: Hand) -> None:
    """An update owns what it changed, and takes it from the others."""
    changed, removed = compare(old, new, schema)
    mine = changed - _NOBODYS
    ownership.take(changed | removed, None)
    if mine:
        ownership.put(hand.by, ownership.fields(hand.by) | mine, hand.now)


def apply(live: Object, config: Object, schema: Object, ownership: Ownership, hand: Hand) -> Object:
    """Merge a configuration into the live object and update ownership. Raises `Refused` (409) on a conflict."""
    before, since = ownership.fields(hand.by), ownership.since(hand.by)
    mine = frozenset(owned(config, schema)) - _NOBODYS
    ownership.put(hand.by, mine, hand.now)
    whole = merged(live, config, schema)
    new = without(whole, schema, _given_up(before, ownership))
    changed, removed = compare(live, new, schema)
    if not changed and not removed:  # who only says what is so already has changed nothing at any time
        ownership.put(hand.by, mine, since)
    _settle(ownership, changed, removed, hand)
    return new if isinstance(new, dict) else {}


def _given_up(before: FieldSet, ownership: Ownership) -> set[FieldPath]:
    # What was applied before and nobody owns now; a container goes when nothing in it is owned any more.
    kept: set[FieldPath] = set().union(*(fields for _, fields, _ in ownership.entries.values()))
    if before <= kept:
        return set()
    return _with_containers(before) - _with_containers(kept) - _NOBODYS


def _with_containers(paths: Iterable[FieldPath]) -> set[FieldPath]:
    return {path[:n] for path in paths for n in range(1, len(path) + 1) if n == len(path) or path[n - 1][0] == "f"}


def _settle(ownership: Ownership, changed: set[FieldPath], removed: set[FieldPath], hand: Hand) -> None:
    others = [(m, f & changed) for m, f, _ in ownership.entries.values() if m.key != hand.by.key]
    conflicts = sorted(((m, path) for m, lost in others for path in lost), key=lambda c: (str(c[0]), c[1]))
    if conflicts and not hand.force:
        causes = [FieldError(dotted(p), "FieldManagerConflict", f"conflict with {m}") for m, p in conflicts]
        raise apply_conflict(_message(conflicts), causes)
    ownership.take(changed | removed, hand.by)


def _message(conflicts: list[tuple[Manager, FieldPath]]) -> str:
    if len(conflicts) == 1:
        manager, path = conflicts[0]
        return f"Apply failed with 1 conflict: conflict with {manager}: {dotted(path)}"
    lines: dict[str, list[str]] = {}
    for manager, path in conflicts:
        lines.setdefault(str(manager), []).append(f"- {dotted(path)}")
    said = "\n".join(f"conflicts with {who}:\n" + "\n".join(lines[who]) for who in sorted(lines))
    return f"Apply failed with {len(conflicts)} conflicts: {said}"
