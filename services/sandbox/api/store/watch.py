"""Watches: every watcher sees every change once and in order, and each change is encoded once."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from services.sandbox.api.status import expired
from services.sandbox.api.store.selectors import Matches
from services.sandbox.api.store.store import EncodedObject, Store, StoreChange, Topic, encode

LIMIT = 20_000
"""The most lines that wait for a slow reader before its watch ends."""
BOOKMARK_EVERY = 60.0
"""Seconds between two bookmarks, as in the real server."""
EARLY = 1e-6
"""Seconds that a timer may come before its time: a clock has a resolution."""

ObjectEncoding = Callable[[bytes], bytes]
"""Converts a stored object into the requested format: a Table, another version."""


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """The selection and format of one watch."""

    topic: Topic
    namespace: str = ""
    name: str = ""
    selected: Matches | None = None
    shape: ObjectEncoding | None = None
    bookmark: Callable[[int, bool], bytes] | None = None
    """Encodes a bookmark at a revision; None: not requested."""

    def concerns(self, namespace: str, name: str) -> bool:
        return self.namespace in ("", namespace) and self.name in ("", name)

    def shows(self, entry: EncodedObject | None) -> bool:
        """Whether the watch selects an object."""
        return entry is not None and (self.selected is None or self.selected(entry.read()))

    def shaped(self, data: bytes) -> bytes:
        return self.shape(data) if self.shape else data


class OpenWatch:
    """One open watch: iterate its batches of lines until it ends, then `close` it."""

    def __init__(self, hub: "Hub", view: WatchOptions, seconds: float | None) -> None:
        self._hub = hub
        self.view = view
        self._lines: list[bytes] = []
        self._ready = asyncio.Event()
        self._over = False
        self._loop = asyncio.get_running_loop()
        self._ends = self._loop.time() + seconds if seconds else float("inf")
        self._timer: asyncio.TimerHandle | None = None
        self._tick()

    async def batches(self) -> AsyncGenerator[list[bytes], None]:
        """Batches of new lines, until the watch ends."""
        try:
            while self._lines or not self._over:
                await self._ready.wait()
                self._ready.clear()
                lines, self._lines = self._lines, []
                if lines:
                    yield lines
        finally:
            self.close()

    def begin(self, lines: list[bytes]) -> None:
        """Add the initial events, however many."""
        self._lines = lines
        self._ready.set()

    def say(self, line: bytes) -> None:
        """Add a line; ends the watch if the reader is too slow."""
        if len(self._lines) >= LIMIT:
            self._lines.clear()
            self.close()
        else:
            self._lines.append(line)
            self._ready.set()

    def close(self) -> None:
        """End the watch after the lines it already has."""
        self._over = True
        self._hub.forget(self)
        self._ready.set()
        if self._timer:
            self._timer.cancel()

    def _tick(self) -> None:
        if self._loop.time() >= self._ends - EARLY:
            self.close()
            return
        if self._timer and self.view.bookmark:
            self.say(self.view.bookmark(self._hub.store.head, False))  # noqa: FBT003 - positional by its type
        pause = min(BOOKMARK_EVERY, self._ends - self._loop.time())
        self._timer = self._loop.call_later(pause, self._tick)


class Hub:
    """Delivers each change to the watches that it concerns."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._watches: dict[Topic, set[OpenWatch]] = {}
        store.listeners.append(self._tell)

    def open(
        self, view: WatchOptions, since: int | None, seconds: float | None, *, initial_end: bool = False
    ) -> OpenWatch:
        """Start a watch after a revision; None: with all current objects as added."""
        watch = OpenWatch(self, view, seconds)
        if since is None:
            self._initial(watch, initial_end=initial_end)
        elif not self._resume(watch, since):
            return watch
        self._watches.setdefault(view.topic, set()).add(watch)
        return watch

    def forget(self, watch: OpenWatch) -> None:
        watches = self._watches.get(watch.view.topic, set())
        watches.discard(watch)
        if not watches:
            self._watches.pop(watch.view.topic, None)

    def end(self, gone: Callable[[Topic], bool]) -> None:
        """Close every watch on kinds that are no longer served."""
        for topic in list(filter(gone, self._watches)):
            for watch in tuple(self._watches[topic]):
                watch.close()

    def _initial(self, watch: OpenWatch, *, initial_end: bool) -> None:
        view = watch.view
        found = self.store.scan(view.topic, view.namespace)
        shown = (entry for at, entry in found if view.concerns(*at) and view.shows(entry))
        lines = [_line("ADDED", view.shaped(entry.data)) for entry in shown]
        if initial_end and view.bookmark:
            lines.append(view.bookmark(self.store.head, True))  # noqa: FBT003 - positional by its type
        watch.begin(lines)

    def _resume(self, watch: OpenWatch, since: int) -> bool:
        if self.store.oldest <= since <= self.store.head:
            wanted = (c for c in self.store.since(since) if c.key.topic == watch.view.topic)
            watch.begin([line for change in wanted if (line := _written(watch.view, change, {}))])
            return True
        watch.say(_line("ERROR", encode(expired(since, self.store.oldest).status())))
        watch.close()
        return False

    def _tell(self, change: StoreChange) -> None:
        written: EncodedLines = {}
        for watch in tuple(self._watches.get(change.key.topic, ())):
            if line := _written(watch.view, change, written):
                watch.say(line)


EncodedLines = dict[tuple[str, ObjectEncoding | None], bytes]
"""Encoded lines of one change, shared by watches with the same format."""

_SEEN = {(False, True): "ADDED", (True, True): "MODIFIED", (True, False): "DELETED"}


def _written(view: WatchOptions, change: StoreChange, written: EncodedLines) -> bytes | None:
    if not view.concerns(*change.key[3:]):
        return None
    event = _SEEN.get((view.shows(change.before), view.shows(change.after)))
    if event is None:
        return None
    if event == "DELETED" and change.after and change.before:  # it is still there, but no longer selected
        return _line(event, view.shaped(change.before.at(change.revision)))
    if (event, view.shape) not in written:
        written[event, view.shape] = _line(event, view.shaped(change.last.data))
    return written[event, view.shape]


def _line(event: str, data: bytes) -> bytes:
    return b'{"type":"%s","object":%s}\n' % (event.encode(), data)
