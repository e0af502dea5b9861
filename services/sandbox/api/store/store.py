"""Every object of every cluster is kept here as the bytes it is shown as, so that reading costs next to nothing."""

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
from services.sandbox.api.status import Refused
from services.sandbox.api.store.journal import Journal
from services.sandbox.api.store.order import Order

WINDOW = 10_000
"""How many changes a watch may look back; one from before is told to list again (410)."""
WEIGHT = 16 * 2**20
"""Bytes of objects such a watch may look back at the most, whichever is less."""
RECENT = 512
"""How many objects stay decoded: what was read or written just now is read again by the next write and its checks."""
LARGEST = 1_000_000
"""Bytes of an object; NATS takes a message of up to 1 MiB (the real etcd: 1.5 MiB)."""

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class Topic(NamedTuple):
    """One kind of object in one cluster."""

    cluster: str
    group: str
    plural: str


class Key(NamedTuple):
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
        """Where the journal keeps it: ``kube.<cluster>.<group>.<plural>.<namespace or _>.<name>``."""
        tokens = (self.cluster, self.group or "core", self.plural, self.namespace, self.name)
        return "kube." + ".".join(token(t) if t else "_" for t in tokens)


@dataclass(slots=True, eq=False)
class Entry:
    """An object as it is shown: its bytes carry its resourceVersion."""

    revision: int
    data: bytes
    decoded: Object | None = None

    def object(self) -> Object:
        """A fresh copy, free to change."""
        found: Object = _decode(self.data)
        return found

    def read(self) -> Object:
        """The same, shared with others who read it: not to be changed."""
        return self.decoded or self.known(self.object())

    def known(self, read: Object) -> Object:
        """What these bytes say; from now on nobody changes it."""
        self.decoded = read
        _recent.append(self)
        if len(_recent) > RECENT:
            _recent.popleft().decoded = None
        return read

    def at(self, revision: int) -> bytes:
        """The same shape, shown at another revision."""
        return self.data.replace(b'"resourceVersion":"%d"' % self.revision, b'"resourceVersion":"%d"' % revision, 1)


class Change(NamedTuple):
    """One write that became visible: what was there before, and what is there now (None: nothing)."""

    revision: int
    key: Key
    before: Entry | None
    after: Entry | None
    last: Entry
    """What to show of it: the newest shape, or the last one of what is gone."""


Table = dict[tuple[str, str], Entry]
"""Objects of one topic by (namespace, name)."""


class Store:
    """Objects in memory, each change journaled before it shows."""

    def __init__(self, journal: Journal, window: int = WINDOW) -> None:
        self._journal = journal
        self._order = Order()
        self._turns: dict[Key, tuple[asyncio.Lock, list[None]]] = {}
        self.clusters: dict[str, dict[tuple[str, str], Table]] = {}
        self.log: deque[Change] = deque()
        self._window = window
        self._weight = 0
        self.oldest = 0
        """The lowest revision a watch can go on from."""
        self.listeners: list[Callable[[Change], None]] = []

    @property
    def head(self) -> int:
        """The newest revision that is visible."""
        return self._order.head

    async def load(self) -> None:
        """Read the journal back; a watch from before cannot be resumed."""
        for subject, revision, data in await self._journal.load():
            self._put(_key(subject), Entry(revision, _with_revision(data, revision)))
        self.oldest = self._order.head = await self._journal.head()

    def get(self, key: Key) -> Entry | None:
        return self.table(key.topic).get(key[3:])

    def table(self, topic: Topic) -> Table:
        """Objects of a topic; not to be changed."""
        return self.clusters.get(topic.cluster, {}).get(topic[1:], {})

    def scan(self, topic: Topic, namespace: str = "") -> list[tuple[tuple[str, str], Entry]]:
        """Objects of a topic (and namespace, if given) in the order of their names."""
        found = self.table(topic).items()
        return sorted(item for item in found if not namespace or item[0][0] == namespace)

    def since(self, revision: int) -> list[Change]:
        """Every change after a revision, in order."""
        found = list(takewhile(lambda change: change.revision > revision, reversed(self.log)))
        return found[::-1]

    @asynccontextmanager
    async def alone(self, key: Key) -> AsyncIterator[None]:
        """Nobody else changes this object meanwhile."""
        lock, waiting = self._turns.setdefault(key, (asyncio.Lock(), []))
        waiting.append(None)
        try:
            async with lock:
                yield
        finally:
            waiting.pop()
            if not waiting:
                del self._turns[key]

    async def settled(self, concerns: Callable[[Key], bool]) -> None:
        """Wait until no write is under way that concerns the asker."""
        while under_way := [key for key in self._turns if concerns(key)]:
            async with self.alone(under_way[0]):
                pass

    async def put(self, key: Key, new: Object) -> Entry:
        """Write an object (without a resourceVersion), to be changed no more; to be called `alone`."""
        data = _encode(new)
        if len(data) > LARGEST:
            raise Refused(413, "RequestEntityTooLarge", f"the object is too large: {len(data)} bytes, limit {LARGEST}")
        done: list[Entry] = []

        def show(revision: int) -> None:
            done.append(Entry(revision, _with_revision(data, revision)))
            done[0].known({**new, "metadata": {"resourceVersion": str(revision), **new["metadata"]}})
            self._show(key, done[0], done[0])

        await self._order.write(self._journal.append(key.subject, data), show)
        return done[0]

    async def remove(self, key: Key, last: Object) -> Entry:
        """Drop an object, whose last shape watchers are shown; to be called `alone`."""
        done: list[Entry] = []

        def show(revision: int) -> None:
            done.append(Entry(revision, _with_revision(_encode(last), revision)))
            self._show(key, None, done[0])

        await self._order.write(self._journal.append(key.subject, b""), show)
        return done[0]

    async def drop(self, cluster: str) -> None:
        """Forget a cluster, in memory and in the journal."""
        self.clusters.pop(cluster, None)
        await self.settled(lambda key: key.cluster == cluster)
        await self._journal.drop(f"kube.{token(cluster)}")

    def _show(self, key: Key, entry: Entry | None, last: Entry) -> None:
        if key.cluster not in self.clusters:
            return  # dropped meanwhile, and with it what was written
        before = self.get(key)
        if entry:
            self._put(key, entry)
        else:
            self.clusters[key.cluster][key.topic[1:]].pop(key[3:], None)
        change = Change(last.revision, key, before, entry, last)
        self._remember(change)
        for listener in self.listeners:
            listener(change)

    def _remember(self, change: Change) -> None:
        self.log.append(change)
        self._weight += len(change.last.data)
        while len(self.log) > self._window or (self._weight > WEIGHT and len(self.log) > 1):
            forgotten = self.log.popleft()
            self.oldest = forgotten.revision
            self._weight -= len(forgotten.last.data)

    def _put(self, key: Key, entry: Entry) -> None:
        self.clusters.setdefault(key.cluster, {}).setdefault(key.topic[1:], {})[key[3:]] = entry


_recent: deque[Entry] = deque()
"""Those that stay decoded."""


def encode(new: object) -> bytes:
    """JSON."""
    return _encode(new)


def _with_revision(data: bytes, revision: int) -> bytes:
    # apiVersion and kind come first and hold no quotes, so the first "metadata" is the object's own.
    return data.replace(b'"metadata":{', b'"metadata":{"resourceVersion":"%d",' % revision, 1)


def _key(subject: str) -> Key:
    _, cluster, group, plural, namespace, name = names_of(subject)
    namespace = "" if namespace == "_" else namespace
    return Key(cluster, "" if group == "core" else group, plural, namespace, name)
