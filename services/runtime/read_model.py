"""Read models: the newest message per subject of other services, kept in memory."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import aclosing
from typing import Any, Generic, TypeVar

import msgspec
import structlog

from events.bus import Bus, CaughtUp, Relisting, Stored
from events.meters import UNDECODABLE, Meters
from events.streams import is_tombstone
from schemas.entity import State
from schemas.lifecycle import Lifecycle
from schemas.registry import Declaration, declared
from schemas.subjects import Key, key_of
from schemas.wire import UNREADABLE
from services.runtime.subscriptions import Undecodable, wildcard

K = TypeVar("K")
V = TypeVar("V", bound=msgspec.Struct)
OnChanged = Callable[[K, V], None]
OnForgotten = Callable[[K], None]

log = structlog.get_logger()


class ReadModel(Generic[K, V]):
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
        listed = tuple(kinds)
        self._bus = bus
        self._stream = listed[0].stream
        self._filters = tuple(filters)
        self._key = key
        self._meters = meters
        self._decoders: dict[tuple[str, ...], msgspec.json.Decoder[Any]] = {
            tuple(d.subject.split(".")[:2]): msgspec.json.Decoder(d.struct) for d in listed
        }
        self._kept: dict[K, tuple[int, V]] = {}
        self._listed: dict[K, tuple[int, V]] | None = None
        """What came so far of a listing that is to take the place of what is kept."""
        self._listeners: list[OnChanged[K, V]] = []
        self._mourners: list[OnForgotten[K]] = []
        self.ready = asyncio.Event()
        """Set once everything that was kept at the start is known."""
        self.listed = asyncio.Event()
        """Set whenever all that is kept was listed, for whoever waits for it to clear."""

    def get(self, key: K) -> V | None:
        """The newest message of a key; None without one."""
        kept = self._kept.get(key)
        return kept[1] if kept else None

    def __iter__(self) -> Iterator[tuple[K, V]]:
        return ((key, value) for key, (_, value) in tuple(self._kept.items()))

    def listen(self, changed: OnChanged[K, V], gone: OnForgotten[K] | None = None) -> None:
        """Call `changed` with every new message from now on, and `gone` with every key that is dropped."""
        self._listeners.append(changed)
        if gone is not None:
            self._mourners.append(gone)

    async def run(self) -> None:
        """Follow the stream until cancelled."""
        async with aclosing(self._bus.feed(self._stream, *self._filters)) as feed:
            async for fed in feed:
                match fed:
                    case Relisting():
                        self._listed = {}
                    case CaughtUp():
                        self._replace()
                        self.ready.set()
                        self.listed.set()
                    case Stored():
                        self._hear(fed)

    def _replace(self) -> None:
        """Take a complete listing: keys not in it are dropped, and its messages hold whatever their sequence."""
        listed, self._listed = self._listed, None
        if listed is None:
            return
        for key in self._kept.keys() - listed.keys():
            self._forget(key)
        for key, (sequence, value) in listed.items():
            if self._kept.get(key, (0,))[0] != sequence:
                self._keep(key, sequence, value)

    def _hear(self, stored: Stored) -> None:
        """Take a message; after one that cannot be decoded the last good one stays."""
        try:
            self._take(stored)
        except Undecodable as wrong:
            self._meters.count(UNDECODABLE, stored.subject.partition(".")[0])
            log.warning("message.undecodable", subject=stored.subject, reason=str(wrong))

    def _take(self, stored: Stored) -> None:
        kept = self._kept if self._listed is None else self._listed
        if is_tombstone(stored):
            self._bury(self._key(stored.subject))
            return
        key, value = self._read(stored)
        if key in kept and kept[key][0] >= stored.sequence:
            return
        if self._listed is None:
            self._keep(key, stored.sequence, value)
        else:
            self._listed[key] = (stored.sequence, value)

    def _bury(self, key: K) -> None:
        if self._listed is None:
            self._forget(key)
        else:
            self._listed.pop(key, None)  # it was listed before it was told gone: the end of the list forgets it

    def _keep(self, key: K, sequence: int, value: V) -> None:
        self._kept[key] = (sequence, value)
        for changed in self._listeners:
            changed(key, value)

    def _forget(self, key: K) -> None:
        if self._kept.pop(key, None) is not None:
            for gone in self._mourners:
                gone(key)

    def _read(self, stored: Stored) -> tuple[K, V]:
        decoder = self._decoders.get(tuple(stored.subject.split(".", 2)[:2]))
        if decoder is None:
            raise Undecodable(stored, "no message of that subject is declared")
        try:
            return self._key(stored.subject), decoder.decode(stored.data)
        except (*UNREADABLE, ValueError) as wrong:
            raise Undecodable(stored, wrong) from wrong


def entities(bus: Bus, lifecycle: Lifecycle, meters: Meters) -> ReadModel[Key, State]:
    """The last state of every entity of another service."""
    return ReadModel(bus, (f"{lifecycle.domain}.*.*.*",), map(declared, lifecycle.states), key_of, meters)


def levels(bus: Bus, struct: type[V], meters: Meters) -> ReadModel[str, V]:
    """The newest of every level of one kind, by subject."""
    declaration = declared(struct)
    return ReadModel(bus, (wildcard(declaration.subject),), (declaration,), str, meters)
