"""`alate events history` shows a cluster's life, and how long each state took."""

from collections.abc import Iterator

from events.bus import Bus
from services.cli.output.render import Columns, Form, Printer, Writer
from services.eventlog.history import history, totals
from services.eventlog.record import clock

TABLE = Columns(
    {
        "AT (UTC)": lambda item, _: clock(item["at"]),
        "ENTITY": lambda item, _: str(item["entity"]),
        "STATE": lambda item, _: str(item["state"]),
        "FOR": lambda item, _: "" if item["seconds"] is None else f"{item['seconds']:.3f}s",
        "ID": lambda item, _: str(item["id"]),
        "CAUSE": lambda item, _: str(item["cause"]),
    },
)


async def show(bus: Bus, tenant: str, cluster: str, form: Form, write: Writer) -> None:
    """Show it."""
    turns = await history(bus, tenant, cluster)
    Printer(TABLE, form, write).all([turn.item() for turn in turns])
    if form == "table":
        write("".join(_summary(totals(turns))))


def _summary(found: dict[str, dict[str, float]]) -> Iterator[str]:
    yield "\n"
    for entity, states in found.items():
        yield f"{entity}: {', '.join(f'{state} {seconds:.3f}s' for state, seconds in states.items())}\n"
