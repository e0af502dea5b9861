"""`alate events history` tells a cluster's life, with its add-ons and its teardown, and how long each state took."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from events.bus import Bus
from events.streams import ENTITIES
from schemas.entity import State
from schemas.registry import Stream
from schemas.subjects import Key, key_of, token
from services.cli.bad import Failed
from services.cli.events.said import Said, clock
from services.cli.events.scan import kept
from services.cli.item import Item
from services.cli.kinds import Kind
from services.cli.show import Form, Show, Write

_state = msgspec.json.Decoder(State).decode


class Turn(NamedTuple):
    """One transition of one entity."""

    said: Said
    key: Key
    event: str
    state: State
    seconds: float | None
    """Until the entity's next transition; None: it has had none."""

    def item(self) -> Item:
        """As JSON would have it."""
        return {
            "at": self.state.since,
            "entity": f"{self.key.domain}/{self.key.name}",
            "state": self.event,
            "seconds": None if self.seconds is None else round(self.seconds, 6),
            "revision": self.state.revision,
            "uid": self.state.uid,
            "id": self.said.id,
            "cause": self.said.cause,
            "place": self.said.place,
        }


async def history(bus: Bus, tenant: str, cluster: str) -> list[Turn]:
    """Every transition of a cluster, its add-ons and its teardown, oldest first. Raises Failed if there are none."""
    filters = [f"{entity}.*.{token(tenant)}.{'*' if entity == 'addon' else token(cluster)}" for entity in ENTITIES]
    found = [said for each in filters async for said in kept(bus, Stream.EVENTS, each)]
    found.sort(key=lambda said: said.stored.sequence)
    turns = timed([said for said in found if key_of(said.stored.subject).name.partition(".")[0] == cluster])
    if not turns:
        raise Failed(f"no cluster {cluster} in namespace {tenant} has a history: see `alate get clusters`")
    return turns


def timed(messages: Sequence[Said]) -> list[Turn]:
    """The same, each with the time until its entity's next one."""
    following: dict[Key, datetime] = {}
    turns = []
    for said in reversed(messages):
        key, state = key_of(said.stored.subject), _state(said.stored.data)
        after = following.get(key)
        seconds = (after - state.since).total_seconds() if after else None
        turns.append(Turn(said, key, said.stored.subject.split(".")[1], state, seconds))
        following[key] = state.since
    return turns[::-1]


def totals(turns: Iterable[Turn]) -> dict[str, dict[str, float]]:
    """Seconds by entity and state, in the order they were first entered; a state that lasts has no time yet."""
    found: dict[str, dict[str, float]] = {}
    for turn in turns:
        if turn.seconds is not None:
            each = found.setdefault(f"{turn.key.domain}/{turn.key.name}", {})
            each[turn.event] = round(each.get(turn.event, 0.0) + turn.seconds, 6)
    return found


TABLE = Kind(
    {
        "AT (UTC)": lambda item, _: clock(item["at"]),
        "ENTITY": lambda item, _: str(item["entity"]),
        "STATE": lambda item, _: str(item["state"]),
        "FOR": lambda item, _: "" if item["seconds"] is None else f"{item['seconds']:.3f}s",
        "ID": lambda item, _: str(item["id"]),
        "CAUSE": lambda item, _: str(item["cause"]),
    },
    lambda item: (item["id"],),
)


async def show(bus: Bus, tenant: str, cluster: str, form: Form, write: Write) -> None:
    """Show it."""
    turns = await history(bus, tenant, cluster)
    Show(TABLE, form, write).all([turn.item() for turn in turns])
    if form == "table":
        write("".join(_summary(totals(turns))))


def _summary(found: dict[str, dict[str, float]]) -> Iterator[str]:
    yield "\n"
    for entity, states in found.items():
        yield f"{entity}: {', '.join(f'{state} {seconds:.3f}s' for state, seconds in states.items())}\n"
