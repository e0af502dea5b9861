"""`alate events dlq` lists dead letters by cause, redelivers them or drops them."""

import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from events.bus import Bus
from services.cli.output.render import Columns, Form, Printer, TextWriter, document
from services.eventlog.dead_letters import DeadLetter, chosen, grouped
from services.eventlog.record import clock
from services.eventlog.redrive import STREAM, again, check, letters
from services.eventlog.scan import EVERY, ReportProgress, progress
from services.queries.item import Item

TABLE = Columns(
    {
        "FINGERPRINT": lambda item, _: str(item["fingerprint"]),
        "COUNT": lambda item, _: str(item["count"]),
        "CONSUMER": lambda item, _: str(item["consumer"]),
        "SUBJECT": lambda item, _: str(item["subject"]),
        "LAST (UTC)": lambda item, _: clock(item["last"]),
        "NUMBERS": lambda item, _: _numbers(item["numbers"]),
        "REASON": lambda item, _: str(item["reason"]),
    },
    name=lambda item: str(item["fingerprint"]),
)


async def ls(bus: Bus, form: Form, write: TextWriter) -> None:
    """Show one line per cause."""
    found = grouped(await letters(bus))
    if not found and form == "table":
        write("no dead letters\n")
    else:
        Printer(TABLE, form, write).all(found)


async def show(bus: Bus, which: str, *, form: Form, write: TextWriter) -> None:
    """Show letters in full. Raises BadInput if there are none."""
    found = chosen(await letters(bus), which)
    if form != "table":
        write(document({"items": [letter.item() for letter in found]}, form))
    else:
        write("\n".join("".join(f"{line}\n" for line in _lines(letter.item())) for letter in found))


class LettersOutput(NamedTuple):
    """How the letters that were handled are written, and whether they only would be."""

    form: Form = "table"
    dry: bool = False
    write: TextWriter = sys.stdout.write

    def line(self, done: str, letter: DeadLetter) -> None:
        """Write a letter as soon as it is handled."""
        if self.form == "table":
            self.write(f"{done}: {_line(letter)}\n")

    def end(self, done: str, found: Sequence[DeadLetter]) -> None:
        """Write all of them for a program."""
        if self.form != "table":
            self.write(document({done: not self.dry, "items": [letter.item() for letter in found]}, self.form))


async def redrive(bus: Bus, which: str, output: LettersOutput, show_progress: ReportProgress = progress) -> None:
    """Deliver letters again to the consumer that failed, alone. Raises BadInput, Failed."""
    found = chosen(await letters(bus), which)
    await check(bus, found)
    for number, letter in enumerate(found, start=1):
        if not output.dry:
            await again(bus, letter)
        output.line("would redrive" if output.dry else "redriven", letter)
        if number % EVERY == 0:
            show_progress(f"{number} of {len(found)} done")
    output.end("redriven", found)


async def drop(bus: Bus, which: str, output: LettersOutput) -> None:
    """Delete letters for good. Raises BadInput if there are none."""
    found = chosen(await letters(bus), which)
    for letter in found:
        if not output.dry:
            await bus.drop(STREAM, letter.number)
        output.line("would drop" if output.dry else "dropped", letter)
    output.end("dropped", found)


def _line(letter: DeadLetter) -> str:
    stream, consumer = letter.failed
    return f"{letter.number} {letter.record.id} to {consumer} of {stream}: {letter.reason}"


def _lines(item: Item) -> Iterator[str]:
    failed = item["failed"]
    who = f"{failed['consumer']} of {failed['stream']}"
    yield f"{item['number']}  {item['fingerprint']}  {who} on {item['publishedOn']}"
    yield f"  reason           {item['reason']}"
    event = item["message"]["event"]
    yield from (f"  {name:<16} {value}" for name, value in event.items() if not name.startswith("data"))
    if "data" in event:
        yield msgspec.json.format(bytes(event["data"]), indent=2).decode()
    elif "data_base64" in event:
        yield repr(event["data_base64"])


def _numbers(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers[:3])) + (",…" if len(numbers) > 3 else "")
