"""A stream in memory, with what JetStream promises about storing."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from events.bus import MARKER, Clock, Conflict, Expect, Message, Stored
from events.streams import TTL, StreamSpec
from schemas.subjects import matcher


class Bell:
    """Wakes all that wait for a change, in the order in which they began to wait, so that a run is repeatable."""

    def __init__(self) -> None:
        self._waiting: dict[asyncio.Future[None], None] = {}

    def ring(self) -> None:
        """Wake all that wait."""
        for future in self._waiting:
            if not future.done():
                future.set_result(None)

    async def wait(self, until: float | None = None) -> None:
        """Return at the next change, or at that time of the loop."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        alarm = loop.call_at(until, _done, future) if until is not None else None
        self._waiting[future] = None
        try:
            await future
        finally:
            self._waiting.pop(future, None)
            if alarm:
                alarm.cancel()


def _done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class Log:
    """Messages in order, with the newest of every subject indexed."""

    def __init__(self, spec: StreamSpec, clock: Clock, bell: Bell) -> None:
        self.spec = spec
        self.last_sequence = 0
        self._clock = clock
        self._bell = bell
        self._messages: dict[int, Stored] = {}
        self._ids: dict[str, tuple[datetime, int]] = {}
        self._msg_ids: dict[int, str] = {}
        self._ends: dict[int, datetime] = {}
        self._subjects: dict[str, dict[int, None]] = {}
        self._tails: dict[str, dict[str, None]] = {}

    def takes(self, subject: str) -> bool:
        """Whether the stream has a subject."""
        return bool(matcher(self.spec.taken)(subject))

    def publish(self, message: Message, expect: Expect | None, msg_id: str | None) -> tuple[int, bool]:
        """Store a message; returns its sequence and whether it is new. Raises `Conflict`."""
        # First the swap, then the window: the order in which a single server looks at them.
        if expect and self._tip(expect.history) != expect.sequence:
            return self._ours(message, expect, msg_id), False
        if msg_id and (kept := self._repeated(msg_id)):
            return (self._ours(message, expect, msg_id) if expect else kept), False
        return self.append(message, msg_id).sequence, True

    def append(self, message: Message, msg_id: str | None = None) -> Stored:
        """Store a message, delete what exceeds the stream's limits, and wake all that wait."""
        self.last_sequence += 1
        now, headers = self._clock(), dict(message.headers)
        if ttl := headers.pop(TTL, None):
            self._ends[self.last_sequence] = now + timedelta(seconds=int(ttl))
            if self.spec.marker_ttl:
                asyncio.get_running_loop().call_later(int(ttl), self._mark, self.last_sequence, message.subject)
        stored = Stored(message.subject, message.data, headers, self.last_sequence, now)
        self._messages[stored.sequence] = stored
        history = self._subjects.setdefault(stored.subject, {})
        history[stored.sequence] = None
        self._tails.setdefault(stored.subject.rpartition(".")[2], {})[stored.subject] = None
        if msg_id:
            self._ids[msg_id] = (now, stored.sequence)
            self._msg_ids[stored.sequence] = msg_id
        self._limit(history)
        self._bell.ring()
        return stored

    def get(self, sequence: int) -> Stored | None:
        """The message at a sequence, if it is still stored."""
        self._age()
        return self._messages.get(sequence)

    def last(self, subject_filter: str) -> Stored | None:
        """The newest message that matches."""
        return self.get(self._tip(subject_filter))

    def matching(self, filters: Sequence[str]) -> list[Stored]:
        """All messages that match, oldest first."""
        self._age()
        sequences = (s for subject in self._matched(filters) for s in self._subjects[subject])
        return [self._messages[s] for s in sorted(sequences)]

    def tips(self, filters: Sequence[str]) -> list[Stored]:
        """The newest message of every subject that matches, oldest first."""
        self._age()
        sequences = (next(reversed(self._subjects[subject])) for subject in self._matched(filters))
        return [self._messages[s] for s in sorted(sequences)]

    def after(self, sequence: int, filters: tuple[str, ...]) -> Stored | None:
        """The first message after a sequence that matches."""
        self._age()
        matches = matcher(filters)
        for following in range(sequence + 1, self.last_sequence + 1):
            stored = self._messages.get(following)
            if stored and matches(stored.subject):
                return stored
        return None

    def forget(self, sequences: Iterable[int]) -> int:
        """Delete messages; returns how many existed."""
        gone = [self._messages.pop(s) for s in tuple(sequences) if s in self._messages]
        for stored in gone:
            self._msg_ids.pop(stored.sequence, None)
            history = self._subjects[stored.subject]
            del history[stored.sequence]
            if not history:
                del self._subjects[stored.subject]
                del self._tails[stored.subject.rpartition(".")[2]][stored.subject]
        if gone:
            self._bell.ring()
        return len(gone)

    def _tip(self, subject_filter: str) -> int:
        self._age()
        return max((next(reversed(self._subjects[s])) for s in self._matched((subject_filter,))), default=0)

    def _matched(self, filters: Sequence[str]) -> Iterator[str]:
        matches = matcher(tuple(filters))
        return (subject for subject in self._candidates(filters) if matches(subject))

    def _candidates(self, filters: Sequence[str]) -> Iterable[str]:
        """An entity's history ends in its name: by that alone a few subjects are found among thousands."""
        tail = filters[0].rpartition(".")[2]
        if len(filters) == 1 and tail not in {"*", ">"}:
            return self._tails.get(tail, ())
        return self._subjects

    def _ours(self, message: Message, expect: Expect, msg_id: str | None) -> int:
        winner = self.after(expect.sequence, (expect.history,))
        same = winner and msg_id and self._msg_ids.get(winner.sequence) == msg_id
        if not winner or not same or (winner.subject, winner.data) != (message.subject, message.data):
            raise Conflict(expect.sequence)
        return winner.sequence

    def _repeated(self, msg_id: str) -> int | None:
        since = self._clock() - timedelta(seconds=self.spec.duplicate_window)
        while self._ids and (oldest := next(iter(self._ids.items())))[1][0] <= since:
            del self._ids[oldest[0]]
        return self._ids.get(msg_id, (since, None))[1]

    def _limit(self, history: dict[int, None]) -> None:
        if 0 < self.spec.per_subject < len(history):
            self.forget(tuple(history)[: -self.spec.per_subject])

    def _mark(self, sequence: int, subject: str) -> None:
        """Store the marker of a subject whose last message has expired."""
        if (
            next(reversed(self._subjects.get(subject, {})), 0) == sequence
            and MARKER not in self._messages[sequence].headers
        ):
            self.forget((sequence,))
            self.append(Message(subject, b"", {MARKER: "MaxAge", TTL: str(int(self.spec.marker_ttl))}))

    def _age(self) -> None:
        if self._ends:
            now = self._clock()
            over = [sequence for sequence, end in self._ends.items() if end <= now]
            self._ends = {sequence: end for sequence, end in self._ends.items() if end > now}
            self.forget(over)
        if not self.spec.max_age:
            return
        since = self._clock() - timedelta(seconds=self.spec.max_age)
        while self._messages and (oldest := next(iter(self._messages.values()))).time <= since:
            self.forget((oldest.sequence,))
