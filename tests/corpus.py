"""What releases stored, as `alate events tail -o json` wrote it: each adds a file, none is ever changed."""

import json
from base64 import b64decode
from datetime import datetime
from pathlib import Path

import msgspec

from events.bus import Message, Stored
from events.cloudevents import escape
from events.memory import MemoryBus
from services.cli.events.said import Said

FOLDER = Path(__file__).parent / "data" / "corpus"
RELEASES = sorted(path.stem for path in FOLDER.glob("*.jsonl"))


class Event(msgspec.Struct):
    data: msgspec.Raw = msgspec.Raw(b"")


class Line(msgspec.Struct):
    event: Event


def corpus(release: str) -> list[Said]:
    """Every message of a release, in the order it was said; the data byte for byte."""
    return [said(line) for line in (FOLDER / f"{release}.jsonl").read_bytes().splitlines()]


def said(line: bytes) -> Said:
    whole, exact = json.loads(line), msgspec.json.decode(line, type=Line).event.data
    event = whole["event"]
    data = b64decode(event.pop("data_base64")) if "data_base64" in event else bytes(exact)
    headers = {f"ce-{name}": escape(value) for name, value in event.items() if name != "data"} | whole["headers"]
    stored = Stored(whole["subject"], data, headers, whole["sequence"], datetime.fromisoformat(whole["stored"]))
    return Said(whole["stream"], stored)


async def replayed(release: str) -> MemoryBus:
    """A bus on which all of it was said again, at the times it was said."""
    times: list[datetime] = []
    bus = MemoryBus(clock=lambda: times[-1])
    for each in corpus(release):
        times.append(each.stored.time)
        await bus.publish(Message(each.stored.subject, each.stored.data, each.stored.headers))
    return bus
