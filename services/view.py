"""A view is what a service needs to know of others: the newest message of each kind, kept in memory."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import aclosing
from typing import Any, Generic, TypeVar

import msgspec
import structlog

from events.bus import Bus, CaughtUp, Stored
from events.meters import UNDECODABLE, Meters
from schemas.entity import State
from schemas.lifecycle import Lifecycle
from schemas.registry import Declaration, declared
from schemas.subjects import Key, key_of
from schemas.unreadable import UNREADABLE
from services.hearing import Undecodable, wildcard

K = TypeVar("K")
V = TypeVar("V", bound=msgspec.Struct)
Changed = Callable[[K, V], None]

log = structlog.get_logger()


class View(Generic[K, V]):
    """Newest message per key; follows the stream as long as `run` runs."""

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
        self._listeners: list[Changed[K, V]] = []
        self.ready = asyncio.Event()
        """Set once everything that was kept at the start is known."""

    def get(self, key: K) -> V | None:
        """The newest under a key, if there is one."""
        kept = self._kept.get(key)
        return kept[1] if kept else None

    def __iter__(self) -> Iterator[tuple[K, V]]:
        return ((key, value) for key, (_, value) in tuple(self._kept.items()))

    def drop(self, key: K) -> None:
        """Forget a key whose messages were purged."""
        self._kept.pop(key, None)

    def listen(self, changed: Changed[K, V]) -> None:
        """Call `changed` at every news from now on; what is known already is not told again."""
        self._listeners.append(changed)

    async def run(self) -> None:
        """Follow the stream, for ever."""
        async with aclosing(self._bus.feed(self._stream, *self._filters)) as feed:
            async for stored in feed:
                if isinstance(stored, CaughtUp):
                    self.ready.set()
                else:
                    self._hear(stored)

    def _hear(self, stored: Stored) -> None:
        """Take a message in; of one that cannot be read, what was kept before it stays, and the next one goes on."""
        try:
            self._take(stored)
        except Undecodable as wrong:
            self._meters.count(UNDECODABLE, stored.subject.partition(".")[0])
            log.warning("message.undecodable", subject=stored.subject, reason=str(wrong))

    def _take(self, stored: Stored) -> None:
        key, value = self._read(stored)
        kept = self._kept.get(key)
        if kept is not None and kept[0] >= stored.sequence:
            return
        self._kept[key] = (stored.sequence, value)
        for changed in self._listeners:
            changed(key, value)

    def _read(self, stored: Stored) -> tuple[K, V]:
        decoder = self._decoders.get(tuple(stored.subject.split(".", 2)[:2]))
        if decoder is None:
            raise Undecodable(stored, "no message of that subject is declared")
        try:
            return self._key(stored.subject), decoder.decode(stored.data)
        except (*UNREADABLE, ValueError) as wrong:
            raise Undecodable(stored, wrong) from wrong


def entities(bus: Bus, lifecycle: Lifecycle, meters: Meters) -> View[Key, State]:
    """The last state of every entity of another service."""
    return View(bus, (f"{lifecycle.domain}.*.*.*",), map(declared, lifecycle.states), key_of, meters)


def levels(bus: Bus, struct: type[V], meters: Meters) -> View[str, V]:
    """The newest of every level of one kind, by subject."""
    declaration = declared(struct)
    return View(bus, (wildcard(declaration.subject),), (declaration,), str, meters)
