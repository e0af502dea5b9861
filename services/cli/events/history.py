"""`alate events history` shows the states of a cluster, and how long each took."""

from collections.abc import Iterator

import msgspec

from events.bus import Bus
from services.cli.get.labels import label
from services.cli.output.render import Columns, Form, Printer, TextWriter
from services.eventlog.history import HistoryEntry, history, totals
from services.eventlog.record import clock

TABLE = Columns(
    {
        "AT (UTC)": lambda item, _: clock(item["at"]),
        "ENTITY": lambda item, _: str(item["name"]),
        "STATE": lambda item, _: str(item["state"]),
        "FOR": lambda item, _: "" if item["seconds"] is None else f"{item['seconds']:.3f}s",
        "ID": lambda item, _: str(item["id"]),
        "CAUSE": lambda item, _: str(item["cause"]),
    },
)


async def show(bus: Bus, tenant: str, cluster: str, form: Form, write: TextWriter) -> None:
    """Show it."""
    turns = await history(bus, tenant, cluster)
    Printer(TABLE, form, write).all([turn.item() | {"name": _name(turn)} for turn in turns])
    if form == "table":
        write("".join(_summary(totals(turns), {turn.item()["entity"]: _name(turn) for turn in turns})))


class _Wish(msgspec.Struct, frozen=True):
    colony: str = ""


class _Owned(msgspec.Struct, frozen=True):
    """What a state says of its Colony: itself, or in its wish."""

    colony: str = ""
    wish: _Wish = _Wish()


def _name(turn: HistoryEntry) -> str:
    """The cluster as people write it, and what of it."""
    owned = msgspec.json.decode(turn.record.stored.data, type=_Owned)
    cluster, _, addon = turn.key.name.partition(".")
    what = {"teardown": " teardown", "addon": f" add-on {addon}"}.get(turn.key.domain, "")
    return f"{label(owned.colony or owned.wish.colony, cluster)}{what}"


def _summary(found: dict[str, dict[str, float]], names: dict[str, str]) -> Iterator[str]:
    yield "\n"
    for entity, states in found.items():
        yield f"{names[entity]}: {', '.join(f'{state} {seconds:.3f}s' for state, seconds in states.items())}\n"
