"""Stores every object of every cluster as the bytes that clients are shown."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

import msgspec

from events.kube.client import Object
from schemas.subjects import names_of, token
from services.sandbox.api.status import StatusError
from services.sandbox.api.store.journal import Journal
from services.sandbox.api.store.order import WriteOrder

WINDOW = 10_000
"""The most changes a watch may resume from; an older one must list again (410)."""
WEIGHT = 16 * 2**20
"""The most bytes of changes a watch may resume from."""
RECENT = 512
"""The number of decoded objects that are cached, since the next write reads them again."""
LARGEST = 1_000_000
"""The largest object in bytes; NATS accepts messages of up to 1 MiB (etcd: 1.5 MiB)."""

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class Topic(NamedTuple):
    """One kind of object in one cluster."""

    cluster: str
    group: str
    plural: str


class ObjectKey(NamedTuple):
    """One object."""

    cluster: str
    group: str
    plural: str
    namespace: str
    name: str

    @property
    def topic(self) -> Topic:
        return Topic(*self[:3])

    @property
    def subject(self) -> str:
        """Its subject in the journal: ``kube.<cluster>.<group>.<plural>.<namespace or _>.<name>``."""
        tokens = (self.cluster, self.group or "core", self.plural, self.namespace, self.name)
        return "kube." + ".".join(token(t) if t else "_" for t in tokens)


@dataclass(slots=True, eq=False)
class EncodedObject:
    """An object as clients see it: its bytes include its resourceVersion."""

    revision: int
    data: bytes
    decoded: Object | None = None

    def object(self) -> Object:
        """A copy that may be changed."""
        found: Object = _decode(self.data)
        return found

    def read(self) -> Object:
        """The shared decoded object, which must not be changed."""
        return self.decoded or self.known(self.object())

    def known(self, read: Object) -> Object:
        """Set the decoded object, which must not be changed afterwards."""
        self.decoded = read
        _recent.append(self)
        if len(_recent) > RECENT:
            _recent.popleft().decoded = None
        return read

    def at(self, revision: int) -> bytes:
        """The object at another revision."""
        return self.data.replace(b'"resourceVersion":"%d"' % self.revision, b'"resourceVersion":"%d"' % revision, 1)


class StoreChange(NamedTuple):
    """A visible write: the object before and after (None: absent)."""

    revision: int
    key: ObjectKey
    before: EncodedObject | None
    after: EncodedObject | None
    last: EncodedObject
    """The newest version, or the last one of a deleted object."""


Table = dict[tuple[str, str], EncodedObject]
"""Objects of one topic by (namespace, name)."""


class Store:
    """Objects in memory; each change is journaled before it is visible."""

    def __init__(self, journal: Journal, window: int = WINDOW) -> None:
        self._journal = journal
        self._order = WriteOrder()
        self._turns: dict[ObjectKey, tuple[asyncio.Lock, list[None]]] = {}
        self.clusters: dict[str, dict[tuple[str, str], Table]] = {}
        self.log: deque[StoreChange] = deque()
        self._window = window
        self._weight = 0
        self.oldest = 0
        """The lowest revision a watch can go on from."""
        self.listeners: list[Callable[[StoreChange], None]] = []

    @property
    def head(self) -> int:
        """The newest revision that is visible."""
        return self._order.head

    async def load(self) -> None:
        """Read the journal; watches from before cannot be resumed."""
        for subject, revision, data in await self._journal.load():
            self._put(_key(subject), EncodedObject(revision, _with_revision(data, revision)))
        self.oldest = self._order.head = await self._journal.head()

    def get(self, key: ObjectKey) -> EncodedObject | None:
        return self.table(key.topic).get(key[3:])

    def table(self, topic: Topic) -> Table:
        """Objects of a topic; must not be changed."""
        return self.clusters.get(topic.cluster, {}).get(topic[1:], {})

    def scan(self, topic: Topic, namespace: str = "") -> list[tuple[tuple[str, str], EncodedObject]]:
        """Objects of a topic (and namespace, if given) in the order of their names."""
        found = self.table(topic).items()
        return sorted(item for item in found if not namespace or item[0][0] == namespace)

    def since(self, revision: int) -> list[StoreChange]:
        """Every change after a revision, in order."""
        found = list(takewhile(lambda change: change.revision > revision, reversed(self.log)))
        return found[::-1]

    @asynccontextmanager
    async def alone(self, key: ObjectKey) -> AsyncIterator[None]:
        """A lock on this object."""
        lock, waiting = self._turns.setdefault(key, (asyncio.Lock(), []))
        waiting.append(None)
        try:
            async with lock:
                yield
        finally:
            waiting.pop()
            if not waiting:
                del self._turns[key]

    async def settled(self, concerns: Callable[[ObjectKey], bool]) -> None:
        """Wait until no pending write concerns the caller."""
        while under_way := [key for key in self._turns if concerns(key)]:
            async with self.alone(under_way[0]):
                pass

    async def put(self, key: ObjectKey, new: Object) -> EncodedObject:
        """Store an object (without a resourceVersion), which must not be changed afterwards. Call it under `alone`."""
        data = _encode(new)
        if len(data) > LARGEST:
            raise StatusError(
                413, "RequestEntityTooLarge", f"the object is too large: {len(data)} bytes, limit {LARGEST}"
            )
        done: list[EncodedObject] = []

        def show(revision: int) -> None:
            done.append(EncodedObject(revision, _with_revision(data, revision)))
            done[0].known({**new, "metadata": {"resourceVersion": str(revision), **new["metadata"]}})
            self._show(key, done[0], done[0])

        await self._order.write(self._journal.append(key.subject, data), show)
        return done[0]

    async def remove(self, key: ObjectKey, last: Object) -> EncodedObject:
        """Remove an object; watchers see its last version. Call it under `alone`."""
        done: list[EncodedObject] = []

        def show(revision: int) -> None:
            done.append(EncodedObject(revision, _with_revision(_encode(last), revision)))
            self._show(key, None, done[0])

        await self._order.write(self._journal.append(key.subject, b""), show)
        return done[0]

    async def drop(self, cluster: str) -> None:
        """Delete a cluster, in memory and in the journal."""
        self.clusters.pop(cluster, None)
        await self.settled(lambda key: key.cluster == cluster)
        await self._journal.drop(f"kube.{token(cluster)}")

    def _show(self, key: ObjectKey, entry: EncodedObject | None, last: EncodedObject) -> None:
        if key.cluster not in self.clusters:
            return  # dropped meanwhile, and with it what was written
        before = self.get(key)
        if entry:
            self._put(key, entry)
        else:
            self.clusters[key.cluster][key.topic[1:]].pop(key[3:], None)
        change = StoreChange(last.revision, key, before, entry, last)
        self._remember(change)
        for listener in self.listeners:
            listener(change)

    def _remember(self, change: StoreChange) -> None:
        self.log.append(change)
        self._weight += len(change.last.data)
        while len(self.log) > self._window or (self._weight > WEIGHT and len(self.log) > 1):
            forgotten = self.log.popleft()
            self.oldest = forgotten.revision
            self._weight -= len(forgotten.last.data)

    def _put(self, key: ObjectKey, entry: EncodedObject) -> None:
        self.clusters.setdefault(key.cluster, {}).setdefault(key.topic[1:], {})[key[3:]] = entry


_recent: deque[EncodedObject] = deque()
"""The decoded objects."""


def encode(new: object) -> bytes:
    """JSON."""
    return _encode(new)


def _with_revision(data: bytes, revision: int) -> bytes:
    # apiVersion and kind come first and hold no quotes, so the first "metadata" is the object's own.
    return data.replace(b'"metadata":{', b'"metadata":{"resourceVersion":"%d",' % revision, 1)


def _key(subject: str) -> ObjectKey:
    _, cluster, group, plural, namespace, name = names_of(subject)
    namespace = "" if namespace == "_" else namespace
    return ObjectKey(cluster, "" if group == "core" else group, plural, namespace, name)
