"""What teardown says of each cluster's end, held against what there is: it comes, in time, and tells the truth."""

from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import msgspec

from events.bus import Stored
from schemas import teardown
from schemas.registry import declared
from schemas.subjects import key_of
from schemas.teardown import (
    Armed,
    Cleaning,
    Draining,
    Ending,
    Gone,
    Stuck,
    TeardownReleasing,
    TeardownState,
    Verifying,
    Warned,
)
from schemas.wish import OnRelease
from services.teardown.lifetime import next_end
from tests.services.crash.conftest import clock
from tests.services.leaks.history import THEIRS
from tests.services.leaks.inside import Paid
from tests.services.leaks.world import World

KINDS: dict[str, Any] = {declared(kind).event: kind for kind in teardown.LIFECYCLE.states}
ORDER = (
    declared(Armed).phase,
    declared(Draining).phase,
    declared(Cleaning).phase,
    declared(TeardownReleasing).phase,
    declared(Verifying).phase,
    declared(Gone).phase,
)
"""Of the steps; none is taken again."""
SLACK = timedelta(minutes=3)
"""What processes that die, and calls that hang, may add to a limit."""
SILENCE = timedelta(minutes=2)
"""After so long, a step in the cluster tells what it waits for."""


class Taken(NamedTuple):
    """One step of an end, as it was told."""

    name: str
    states: list[TeardownState]
    until: datetime
    """When the next one began; now, if none did."""

    @property
    def last(self) -> TeardownState:
        return self.states[-1]

    def _limit(self) -> datetime | None:
        """When it is to be over at the latest, as people have asked; None: that is not for teardown to say."""
        if isinstance(self.last, Draining | Cleaning):
            limit = "drain_timeout_seconds" if isinstance(self.last, Draining) else "clean_timeout_seconds"
            longest = max(getattr(state.wish.limits, limit) for state in self.states)
            return self.states[0].since + timedelta(seconds=longest)
        if isinstance(self.last, Armed | Warned) and (nearest := next_end(self.last)) is not None:
            return max(nearest[0], self.last.since)  # a limit may be set that is over already
        return None

    def wrongs(self) -> Iterator[str]:
        """How it took longer than it may, or never said why it took long."""
        limit = self._limit()
        if limit is not None and self.until > limit + SLACK:
            yield f"was {self.name} until {self.until:%d %H:%M:%S}, which was to end at {limit:%d %H:%M:%S}"
        within = isinstance(self.last, Draining | Cleaning)
        if within and self.until > self.states[0].since + SILENCE and not getattr(self.last, "blocked", None):
            yield f"was {self.name} until {self.until:%d %H:%M:%S}, and did not say why"
        if isinstance(self.last, Stuck) and not self.last.message:
            yield "is stuck, and does not say why"


@dataclass
class End:
    """One incarnation's end, as far as it is told."""

    name: str
    states: list[TeardownState] = field(default_factory=list)

    @property
    def last(self) -> TeardownState:
        return self.states[-1]

    def wrongs(self, now: datetime, paid: list[Paid]) -> Iterator[str]:
        """What must never be; `paid`: what its cluster has made at the cloud, and is not gone."""
        steps = list(self._steps(now))
        yield from (f"took {two.name} after {one.name}" for one, two in pairwise(steps) if _back(one, two))
        yield from (wrong for step in steps for wrong in step.wrongs())
        if isinstance(self.last, Gone) and not (self.last.wish.need.kept or self.last.lent):
            forgotten = [it for it in paid if not _named(it, self.last)]
            yield from (f"has left the {it.kind} {it.name} and does not name it" for it in forgotten)

    def _steps(self, now: datetime) -> Iterator[Taken]:
        told = [(name, list(states)) for name, states in groupby(self.states, _step)]
        for (name, states), after in pairwise((*told, None)):
            yield Taken(name, states, after[1][0].since if after is not None else now)


class Record:
    """All ends of a history."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.ends: dict[tuple[str, str], End] = {}
        """By the cluster's name and its incarnation."""
        self._before: list[tuple[str, End]] = []
        """By incarnation, those over: a wish that is heard late founds anew, under the same name of an incarnation."""

    async def run(self) -> None:
        """Listen, for ever."""
        async with aclosing(self._world.bus.follow("EVENTS", "teardown.*.*.*")) as feed:
            async for stored in feed:
                if isinstance(stored, Stored):
                    self._note(stored)

    def _note(self, stored: Stored) -> None:
        name = key_of(stored.subject).name
        state: TeardownState = msgspec.json.decode(stored.data, type=KINDS[stored.subject.split(".")[1]])
        known = self.ends.get((name, state.uid))
        if known is not None and _over(known.last) and not _over(state):
            self._before.append((state.uid, self.ends.pop((name, state.uid))))
        self.ends.setdefault((name, state.uid), End(name)).states.append(state)

    def wrongs(self) -> list[str]:
        """What was said and is not so, or is so and was not said."""
        now, inside = clock(), self._world.inside
        return [
            f"the end of {end.name} of {uid} {wrong}"
            for uid, end in (*self._before, *((uid, end) for (_, uid), end in self.ends.items()))
            for wrong in end.wrongs(now, [paid for paid in inside.paid.values() if paid.uid == uid and _ours(paid)])
        ]

    def ending(self, name: str, uid: str) -> bool:
        """Whether the end of an incarnation has begun."""
        end = self.ends.get((name, uid))
        return end is not None and not isinstance(end.last, Armed | Warned)

    def going(self) -> list[str]:
        """What is not over."""
        last = {end.name: end.last for end in self.ends.values()}
        return [f"the end of {name} is not over: {_told(state)}" for name, state in last.items() if not _over(state)]


def _over(state: TeardownState) -> bool:
    return isinstance(state, Gone)


def _step(state: TeardownState) -> str:
    name = state.step if isinstance(state, Stuck) else declared(type(state)).phase
    return declared(Armed).phase if isinstance(state, Warned) else name


def _back(before: Taken, after: Taken) -> bool:
    return ORDER.index(after.name) < ORDER.index(before.name)


def _ours(paid: Paid) -> bool:
    """What was made from within a cluster that its owner keeps is that owner's, whatever was asked for later."""
    return THEIRS.get(paid.place) is not OnRelease.KEEP


def _named(paid: Paid, gone: Gone) -> bool:
    told = " ".join(skipped.left for skipped in gone.skipped)
    return paid.kind in told or bool(paid.addon and paid.addon in told)


def _told(state: TeardownState) -> str:
    why = f"{state.blocked}, {getattr(state, 'message', '')}" if isinstance(state, Ending) else "nothing ends it"
    return f"{type(state).__name__} since {state.since:%d %H:%M:%S}: {why}"
