"""Read models: the newest value per key, the decoders of messages, and models that follow a stream of the bus."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import aclosing
from typing import Any, Generic, TypeVar

import msgspec
import structlog

from events.bus import Bus, CaughtUp, Relisting, Stored
from events.meters import UNDECODABLE, Meters
from events.streams import is_tombstone
from schemas.entity import Lifecycle, State
from schemas.registry import UNREADABLE, Declaration, declared
from schemas.subjects import Key, key_of

K = TypeVar("K")
V = TypeVar("V")
M = TypeVar("M", bound=msgspec.Struct)
OnChanged = Callable[[K, V], None]
OnDropped = Callable[[K], None]

log = structlog.get_logger()


class Undecodable(ValueError):
    """The message does not fit its subject; the text says what was found where."""

    def __init__(self, stored: Stored, wrong: object) -> None:
        super().__init__(f"{stored.subject} #{stored.sequence}: {wrong}")
        self.subject = stored.subject


def skip(wrong: Undecodable, meters: Meters) -> None:
    """Log and count a message that is left out because it cannot be decoded."""
    meters.count(UNDECODABLE, wrong.subject.partition(".")[0])
    log.warning("message.undecodable", subject=wrong.subject, reason=str(wrong))


class Decoders:
    """Decodes messages by the first two names of their subject."""

    def __init__(self, kinds: Iterable[Declaration]) -> None:
        self._by_head: dict[tuple[str, ...], msgspec.json.Decoder[Any]] = {
            tuple(kind.subject.split(".")[:2]): msgspec.json.Decoder(kind.struct) for kind in kinds
        }

    def read(self, stored: Stored, make: Callable[[Any], V]) -> V:
        """What `make` makes of the decoded message. Raises Undecodable, also for a ValueError of `make`."""
        decoder = self._by_head.get(tuple(stored.subject.split(".", 2)[:2]))
        if decoder is None:
            raise Undecodable(stored, "no message of that subject is declared")
        try:
            return make(decoder.decode(stored.data))
        except (*UNREADABLE, ValueError) as wrong:
            raise Undecodable(stored, wrong) from wrong


class Newest(Generic[K, V]):
    """The newest value per key with its sequence in the stream; listeners are called with each change."""

    def __init__(self) -> None:
        self._values: dict[K, tuple[int, V]] = {}
        self._on_changed: list[OnChanged[K, V]] = []
        self._on_dropped: list[OnDropped[K]] = []

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[tuple[K, V]]:
        return ((key, value) for key, (_, value) in tuple(self._values.items()))

    def get(self, key: K) -> V | None:
        """The newest value of a key; None without one."""
        try:
            return self._values[key][1]
        except KeyError:
            return None

    def sequence(self, key: K) -> int:
        """The sequence of a key's value; 0 without one."""
        return self._values[key][0] if key in self._values else 0

    def snapshot(self) -> dict[K, tuple[int, V]]:
        """Every key's sequence and value now."""
        return dict(self._values)

    def listen(self, changed: OnChanged[K, V], dropped: OnDropped[K] | None = None) -> None:
        """Call `changed` with every new value from now on, and `dropped` with every key that is dropped."""
        self._on_changed.append(changed)
        if dropped is not None:
            self._on_dropped.append(dropped)

    def add(self, key: K, sequence: int, value: V) -> None:
        """Keep a value, unless the kept one has the same sequence or a higher one."""
        kept = self._values.get(key)
        if kept is None or kept[0] < sequence:
            self.put(key, sequence, value)

    def put(self, key: K, sequence: int, value: V) -> None:
        """Keep a value, whatever its sequence: after a restore of the bus, newer ones may have lower sequences."""
        self._values[key] = (sequence, value)
        for changed in self._on_changed:
            changed(key, value)

    def drop(self, key: K) -> None:
        """Drop a key."""
        if self._values.pop(key, None) is not None:
            for dropped in self._on_dropped:
                dropped(key)

    def replace(self, listed: "Newest[K, V]", before: Mapping[K, tuple[int, V]] | None = None) -> None:
        """Take a complete listing: drop the keys that it lacks, and put what differs, whatever its sequence.

        With `before`, a snapshot from when the listing began, keys that have changed since then stay as they are.
        """
        entries = listed.snapshot()
        for key in (*(self._values.keys() - entries.keys()), *entries):
            kept, new = self._values.get(key), entries.get(key)
            if kept == new or (before is not None and before.get(key) != kept):
                continue
            if new is None:
                self.drop(key)
            else:
                self.put(key, *new)


class ReadModel(Newest[K, M]):
    """The newest message per key, followed while `run` runs.

    A key is dropped by a tombstone, or when the next listing lacks it.
    """

    def __init__(
        self,
        bus: Bus,
        filters: Iterable[str],
        kinds: Iterable[Declaration],
        key: Callable[[str], K],
        meters: Meters,
    ) -> None:
        super().__init__()
        declarations = tuple(kinds)
        self._bus = bus
        self._stream = declarations[0].stream
        self._filters = tuple(filters)
        self._key = key
        self._meters = meters
        self._decoders = Decoders(declarations)
        self._listed: Newest[K, M] | None = None
        """What has come so far of a listing that replaces all values when it is complete."""
        self.ready = asyncio.Event()
        """Set once the first listing is complete."""
        self.listed = asyncio.Event()
        """Set whenever a listing is complete; a caller that waits for the next one clears it first."""

    async def run(self) -> None:
        """Follow the stream until cancelled."""
        async with aclosing(self._bus.feed(self._stream, *self._filters)) as feed:
            async for fed in feed:
                match fed:
                    case Relisting():
                        self._listed = Newest()
                    case CaughtUp():
                        self._complete()
                    case Stored():
                        self._receive(fed)

    def _complete(self) -> None:
        listed, self._listed = self._listed, None
        if listed is not None:
            self.replace(listed)
        self.ready.set()
        self.listed.set()

    def _receive(self, stored: Stored) -> None:
        """Take a message; one that cannot be decoded leaves the last good one in place."""
        values = self if self._listed is None else self._listed
        if is_tombstone(stored):
            values.drop(self._key(stored.subject))
            return
        try:
            key, value = self._decoders.read(stored, lambda message: (self._key(stored.subject), message))
        except Undecodable as wrong:
            skip(wrong, self._meters)
        else:
            values.add(key, stored.sequence, value)


def entities(bus: Bus, lifecycle: Lifecycle, meters: Meters) -> ReadModel[Key, State]:
    """The last state of every entity of another service."""
    return ReadModel(bus, (f"{lifecycle.domain}.*.*.*",), map(declared, lifecycle.states), key_of, meters)


def levels(bus: Bus, struct: type[M], meters: Meters) -> ReadModel[str, M]:
    """The newest of every level of one kind, by subject."""
    declaration = declared(struct)
    return ReadModel(bus, (declaration.under(),), (declaration,), str, meters)
