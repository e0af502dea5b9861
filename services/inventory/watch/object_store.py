"""Objects of one kind by UID; correct also after late, repeated or reordered events."""

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

import msgspec

from events.kube.port import Object, Resource
from services.inventory.read.object_types import SHAPES
from services.kubernetes.malformed import MALFORMED, describe
from services.kubernetes.object_types import ObjectPath, identity, object_path

T = TypeVar("T")
REMEMBERED = 10_000
"""How many deleted objects are remembered, to ignore late events of them; a list clears them all."""


class StoredObject(NamedTuple, Generic[T]):
    """One object, read."""

    version: int
    path: ObjectPath
    value: T


class UnreadObject(NamedTuple):
    """One object that its reader could not read."""

    version: int
    path: ObjectPath
    why: str


ObjectChange = tuple[T | None, T | None]
"""What an object was read as before, and is now."""


class ObjectStore(Generic[T]):
    """The objects of the last list and the changes since then; each object is read once, when it comes.

    An older version never replaces a newer one, a deleted object never comes back, and of two objects with one name
    only the newer is kept: the resourceVersion is the only order that the API server gives.
    """

    def __init__(self, read: Callable[[Object], T], otherwise: Callable[[Object, str], T] | None = None) -> None:
        """`read` may raise MALFORMED: such an object is `unread`, and stored only as `otherwise` returns it."""
        self._read = read
        self._otherwise = otherwise
        self._unread: dict[str, UnreadObject] = {}
        self._kept: dict[str, StoredObject[T]] = {}
        self._uids: dict[ObjectPath, str] = {}
        self._gone: dict[str, None] = {}
        self.nameless = 0
        """How many objects of the last list had no name."""
        self._floor = 0
        self.listed = False
        """Whether there was a complete list."""

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[tuple[str, T]]:
        return ((uid, kept.value) for uid, kept in self._kept.items())

    @property
    def unread(self) -> Iterable[UnreadObject]:
        """Those that cannot be read now."""
        return self._unread.values()

    def get(self, uid: str) -> T | None:
        """The object of a UID."""
        kept = self._kept.get(uid)
        return kept.value if kept else None

    def named(self, name: str, namespace: str = "") -> T | None:
        """The object that has the name now."""
        uid = self._uids.get((namespace, name))
        return self._kept[uid].value if uid else None

    def names(self) -> Iterator[str]:
        """Every name."""
        return (name for _, name in self._uids)

    def replace(self, items: Iterable[Object], version: str, nameless: int = 0) -> list[ObjectChange[T]]:
        """A complete list: what is not in it is not there. Gives what differs."""
        before, self._kept, self._uids, self._unread = self._kept, {}, {}, {}
        self._gone, self._floor, self.listed, self.nameless = {}, _number(version), True, nameless
        changes: list[ObjectChange[T]] = []
        for item in items:
            kept = self._keep(item)
            turned = _changes(before.pop(identity(item), None), kept)
            changes += turned
        return changes + [(old.value, None) for old in before.values()]

    def change(self, item: Object, *, gone: bool) -> list[ObjectChange[T]]:
        """One object was added, changed, or is gone. Gives what differs."""
        meta = item["metadata"]
        uid, version = identity(item), _number(meta.get("resourceVersion", ""))
        old = self._kept.get(uid)
        known = old or self._unread.get(uid)
        if known is None and ((version and version <= self._floor) or uid in self._gone):
            return []
        if known is not None and version and version < known.version:
            return []
        if gone:
            return self._drop(uid)
        return self._put(item, old)

    def _put(self, item: Object, old: StoredObject[T] | None) -> list[ObjectChange[T]]:
        path, uid = object_path(item), identity(item)
        changes: list[ObjectChange[T]] = []
        twin = self._uids.get(path)
        if twin is not None and twin != uid:
            if self._kept[twin].version > _number(item["metadata"].get("resourceVersion", "")):
                return []
            changes = self._drop(twin)
        self._remove(uid)
        return [*changes, *_changes(old, self._keep(item))]

    def _keep(self, item: Object) -> StoredObject[T] | None:
        """None: it cannot be read."""
        path, uid, version = object_path(item), identity(item), _number(item["metadata"].get("resourceVersion", ""))
        try:
            value = self._read(item)
        except MALFORMED as error:
            self._unread[uid] = UnreadObject(version, path, describe(error))
            if self._otherwise is None:
                return None
            value = self._otherwise(item, describe(error))
        self._uids[path] = uid
        kept = self._kept[uid] = StoredObject(version, path, value)
        return kept

    def _drop(self, uid: str) -> list[ObjectChange[T]]:
        self._gone[uid] = None
        if len(self._gone) > REMEMBERED:
            del self._gone[next(iter(self._gone))]
        return _changes(self._remove(uid), None)

    def _remove(self, uid: str) -> StoredObject[T] | None:
        self._unread.pop(uid, None)
        kept = self._kept.pop(uid, None)
        if kept is not None and self._uids.get(kept.path) == uid:
            del self._uids[kept.path]
        return kept


def _changes(old: StoredObject[T] | None, new: StoredObject[T] | None) -> list[ObjectChange[T]]:
    before, now = old.value if old else None, new.value if new else None
    return [] if before == now and (old is None) == (new is None) else [(before, now)]


def _number(version: str) -> int:
    """A resourceVersion as the number it is (KEP-5504); 0 where it is none: then the order of arrival counts."""
    return int(version) if version.isascii() and version.isdigit() else 0


def checked_reader(resource: Resource, read: Callable[[Object], T]) -> Callable[[Object], T]:
    """A reader that first raises msgspec.ValidationError if a field has another type."""
    shape = SHAPES[resource]

    def checked(item: Object) -> T:
        msgspec.convert(item, shape)
        return read(item)

    return checked
