"""One kind's objects are kept here by UID, so that a late, repeated or reordered word never makes the view lie."""

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

from events.kube_port import Object

T = TypeVar("T")
REMEMBERED = 10_000
"""How many of those that are gone are remembered, to know their late words; a list makes all of that moot."""
Path = tuple[str, str]
"""Namespace and name."""


class Kept(NamedTuple, Generic[T]):
    """One object, read."""

    version: int
    path: Path
    value: T


Turn = tuple[T | None, T | None]
"""What an object was read as before, and is now."""


class Shelf(Generic[T]):
    """What a list and the changes since then come to; each object is read once, when it comes.

    An older version never replaces a newer one, what is gone never comes back, and of two objects that bear one name
    only the newer is there: the API server has no other order to tell of.
    """

    def __init__(self, read: Callable[[Object], T]) -> None:
        self._read = read
        self._kept: dict[str, Kept[T]] = {}
        self._uids: dict[Path, str] = {}
        self._gone: dict[str, None] = {}
        self._floor = 0
        self.listed = False
        """A complete list was seen."""

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[tuple[str, T]]:
        return ((uid, kept.value) for uid, kept in self._kept.items())

    def get(self, uid: str) -> T | None:
        """The object of a UID."""
        kept = self._kept.get(uid)
        return kept.value if kept else None

    def named(self, name: str, namespace: str = "") -> T | None:
        """The object that bears the name now."""
        uid = self._uids.get((namespace, name))
        return self._kept[uid].value if uid else None

    def names(self) -> Iterator[str]:
        """Every name."""
        return (name for _, name in self._uids)

    def replace(self, items: Iterable[Object], version: str) -> list[Turn[T]]:
        """A complete list: what is not in it is not there. Gives what differs."""
        before, self._kept, self._uids = self._kept, {}, {}
        self._gone, self._floor, self.listed = {}, _number(version), True
        turns: list[Turn[T]] = []
        for item in items:
            kept = self._keep(item)
            old = before.pop(identity(item), None)
            if old is None or old.value != kept.value:
                turns.append((old.value if old else None, kept.value))
        return turns + [(old.value, None) for old in before.values()]

    def change(self, item: Object, *, gone: bool) -> list[Turn[T]]:
        """One object was added, changed, or is gone. Gives what differs."""
        meta = item["metadata"]
        uid, version = identity(item), _number(meta.get("resourceVersion", ""))
        old = self._kept.get(uid)
        if old is None and ((version and version <= self._floor) or uid in self._gone):
            return []
        if old is not None and version and version < old.version:
            return []
        if gone:
            return self._drop(uid)
        return self._put(item, old)

    def _put(self, item: Object, old: Kept[T] | None) -> list[Turn[T]]:
        path, uid = _path(item), identity(item)
        turns: list[Turn[T]] = []
        twin = self._uids.get(path)
        if twin is not None and twin != uid:
            if self._kept[twin].version > _number(item["metadata"].get("resourceVersion", "")):
                return []
            turns = self._drop(twin)
        kept = self._keep(item)
        if old is not None and old.value == kept.value:
            return turns
        return [*turns, (old.value if old else None, kept.value)]

    def _keep(self, item: Object) -> Kept[T]:
        path, uid = _path(item), identity(item)
        kept = Kept(_number(item["metadata"].get("resourceVersion", "")), path, self._read(item))
        self._kept[uid] = kept
        self._uids[path] = uid
        return kept

    def _drop(self, uid: str) -> list[Turn[T]]:
        self._gone[uid] = None
        if len(self._gone) > REMEMBERED:
            del self._gone[next(iter(self._gone))]
        kept = self._kept.pop(uid, None)
        if kept is None:
            return []
        if self._uids.get(kept.path) == uid:
            del self._uids[kept.path]
        return [(kept.value, None)]


def identity(item: Object) -> str:
    """What tells an object from its namesakes: its UID, or its path where an API gives it none.

    Cluster API's in-memory provider (v1.12.3) serves Nodes and Pods without a UID.
    """
    return str(item["metadata"].get("uid") or "/".join(_path(item)))


def _path(item: Object) -> Path:
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]


def _number(version: str) -> int:
    """A resourceVersion as the number it is (KEP-5504); 0 where it is none: then the order of arrival counts."""
    return int(version) if version.isascii() and version.isdigit() else 0
