"""Everyone who watches sees every change once and in order, and each change is written out only once."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from services.sandbox.api.status import expired
from services.sandbox.api.store.selectors import Matches
from services.sandbox.api.store.store import Change, Entry, Store, Topic, encode

LIMIT = 20_000
"""How many lines wait for a slow reader before its watch ends (it resumes from its last resourceVersion)."""
BOOKMARK_EVERY = 60.0
"""Seconds between two bookmarks; the real server's pace."""

Shape = Callable[[bytes], bytes]
"""Turns an object as it is stored into what was asked for: a Table, another version."""


@dataclass(frozen=True, slots=True)
class View:
    """What one watch asks to see, and how."""

    topic: Topic
    namespace: str = ""
    name: str = ""
    selected: Matches | None = None
    shape: Shape | None = None
    bookmark: Callable[[int, bool], bytes] | None = None
    """The line of a bookmark at a revision, at the end of the initial events or later; None: not asked for."""

    def concerns(self, namespace: str, name: str) -> bool:
        return self.namespace in ("", namespace) and self.name in ("", name)

    def shows(self, entry: Entry | None) -> bool:
        """Whether an object, in this shape, is one the watch selects."""
        return entry is not None and (self.selected is None or self.selected(entry.read()))

    def shaped(self, data: bytes) -> bytes:
        return self.shape(data) if self.shape else data


class Watch:
    """One open watch: iterate its batches of lines until it ends, then `close` it."""

    def __init__(self, hub: "Hub", view: View, seconds: float | None) -> None:
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
        """The lines that have come since the last batch, for as long as the watch lasts."""
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
        """What is there at the start, however much it is."""
        self._lines = lines
        self._ready.set()

    def say(self, line: bytes) -> None:
        """One more line; a reader who is too slow loses the watch."""
        if len(self._lines) >= LIMIT:
            self._lines.clear()
            self.close()
        else:
            self._lines.append(line)
            self._ready.set()

    def close(self) -> None:
        """No more lines come; those said are still given."""
        self._over = True
        self._hub.forget(self)
        self._ready.set()
        if self._timer:
            self._timer.cancel()

    def _tick(self) -> None:
        if self._loop.time() >= self._ends:
            self.close()
            return
        if self._timer and self.view.bookmark:
            self.say(self.view.bookmark(self._hub.store.head, False))  # noqa: FBT003 - positional by its type
        pause = min(BOOKMARK_EVERY, self._ends - self._loop.time())
        self._timer = self._loop.call_later(pause, self._tick)


class Hub:
    """Hands each change to the watches it concerns."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._watches: dict[Topic, set[Watch]] = {}
        store.listeners.append(self._tell)

    def open(self, view: View, since: int | None, seconds: float | None, *, initial_end: bool = False) -> Watch:
        """Start a watch after a revision; None: with everything that is there, as if it were added now."""
        watch = Watch(self, view, seconds)
        if since is None:
            self._initial(watch, initial_end=initial_end)
        elif not self._resume(watch, since):
            return watch
        self._watches.setdefault(view.topic, set()).add(watch)
        return watch

    def forget(self, watch: Watch) -> None:
        watches = self._watches.get(watch.view.topic, set())
        watches.discard(watch)
        if not watches:
            self._watches.pop(watch.view.topic, None)

    def end(self, gone: Callable[[Topic], bool]) -> None:
        """Close every watch on what is no longer served."""
        for topic in list(filter(gone, self._watches)):
            for watch in tuple(self._watches[topic]):
                watch.close()

    def _initial(self, watch: Watch, *, initial_end: bool) -> None:
        view = watch.view
        found = self.store.scan(view.topic, view.namespace)
        shown = (entry for at, entry in found if view.concerns(*at) and view.shows(entry))
        lines = [_line("ADDED", view.shaped(entry.data)) for entry in shown]
        if initial_end and view.bookmark:
            lines.append(view.bookmark(self.store.head, True))  # noqa: FBT003 - positional by its type
        watch.begin(lines)

    def _resume(self, watch: Watch, since: int) -> bool:
        if self.store.oldest <= since <= self.store.head:
            wanted = (c for c in self.store.since(since) if c.key.topic == watch.view.topic)
            watch.begin([line for change in wanted if (line := _written(watch.view, change, {}))])
            return True
        watch.say(_line("ERROR", encode(expired(since, self.store.oldest).status())))
        watch.close()
        return False

    def _tell(self, change: Change) -> None:
        written: Written = {}
        for watch in tuple(self._watches.get(change.key.topic, ())):
            if line := _written(watch.view, change, written):
                watch.say(line)


Written = dict[tuple[str, Shape | None], bytes]
"""Lines of one change that are already written, for all who see it the same way."""

_SEEN = {(False, True): "ADDED", (True, True): "MODIFIED", (True, False): "DELETED"}


def _written(view: View, change: Change, written: Written) -> bytes | None:
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
