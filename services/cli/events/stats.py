"""`alate events stats` counts messages by subject and type, and the lag of every consumer."""

from dataclasses import dataclass, field
from datetime import datetime
from statistics import median

import msgspec

from events.bus import Bus, ConsumerLag
from events.telemetry import template_of
from services.cli.output.cells import Cell
from services.cli.output.render import Columns, Form, Printer, TextWriter, document
from services.eventlog.filters import STREAMS
from services.eventlog.record import EventRecord
from services.eventlog.scan import kept
from services.queries.item import Item


@dataclass
class SubjectCount:
    """The messages on one subject template, of one type."""

    stream: str
    subject: str
    type: str
    count: int = 0
    lags: list[float] = field(default_factory=list)
    """Seconds between an event (``ce-time``) and its being kept."""

    def take(self, record: EventRecord) -> None:
        """Count one more."""
        self.count += 1
        if (lag := lag_of(record)) is not None:
            self.lags.append(lag)

    def item(self, seconds: float) -> Item:
        """As JSON would have it; the rate is over so many seconds."""
        lags = {"p50": median(self.lags), "max": max(self.lags)} if self.lags else None
        what = {"stream": self.stream, "subject": self.subject, "type": self.type, "count": self.count}
        return what | {"perSecond": self.count / seconds, "publishLagSeconds": lags}


class _Time(msgspec.Struct):
    time: datetime


def lag_of(record: EventRecord) -> float | None:
    """Seconds from the event to its being kept; None if it has no time."""
    written = record.stored.headers.get("ce-time")
    try:
        time = msgspec.convert({"time": written}, _Time).time
        return (record.stored.time - time).total_seconds()
    except (msgspec.ValidationError, TypeError):  # no time, none that can be read, or one without a zone
        return None


def template(record: EventRecord) -> str:
    """What a subject is counted under: its template; dead letters by consumer, hooks by provider."""
    subject = record.stored.subject
    match record.stream:
        case "DLQ":
            return subject
        case "HOOKS":
            return ".".join((*subject.split(".")[:2], ">"))
    return template_of(subject)


async def stats(bus: Bus, since: datetime, now: datetime) -> Item:
    """Every message from `since` to `now`, and every consumer."""
    tallies: dict[tuple[str, str, str], SubjectCount] = {}
    places: list[ConsumerLag] = []
    for stream in STREAMS:
        async for record in kept(bus, stream, since=since):
            where = (stream, template(record), record.type)
            tallies.setdefault(where, SubjectCount(*where)).take(record)
        places += await bus.consumers(stream)
    seconds = max(1.0, (now - since).total_seconds())
    published = [tallies[where].item(seconds) for where in sorted(tallies)]
    return {
        "since": since,
        "seconds": seconds,
        "published": published,
        "consumers": [_place(place) for place in places],
        "deadLetters": await bus.count("DLQ", "dlq.>"),
    }


def _place(place: ConsumerLag) -> Item:
    where = {"stream": place.stream, "consumer": place.consumer, "filters": list(place.filters)}
    return where | {"pending": place.pending, "unanswered": place.unanswered, "redelivered": place.redelivered}


def _text(name: str) -> Cell:
    return lambda item, _: str(item[name])


def _lag(name: str) -> Cell:
    return lambda item, _: f"{item['publishLagSeconds'][name] * 1000:.1f}ms" if item["publishLagSeconds"] else ""


PUBLISHED = Columns(
    {
        "STREAM": _text("stream"),
        "SUBJECT": _text("subject"),
        "TYPE": _text("type"),
        "COUNT": _text("count"),
        "PER SECOND": lambda item, _: f"{item['perSecond']:.3f}",
        "LAG P50": _lag("p50"),
        "LAG MAX": _lag("max"),
    },
)
HEARD = Columns(
    {
        "STREAM": _text("stream"),
        "CONSUMER": _text("consumer"),
        "PENDING": _text("pending"),
        "UNANSWERED": _text("unanswered"),
        "REDELIVERED": _text("redelivered"),
    },
)


async def show(bus: Bus, since: datetime, now: datetime, *, form: Form, write: TextWriter) -> None:
    """Show it."""
    found = await stats(bus, since, now)
    if form != "table":
        write(document(found, form))
        return
    Printer(PUBLISHED, "table", write).all(found["published"])
    write("\n")
    Printer(HEARD, "table", write).all(found["consumers"])
    write(f"\ndead letters: {found['deadLetters']}\n")
