"""Targets, a bus and a clock, for the tests of outbound."""

import json
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import yaml

from events.bus import Bus, Message
from events.cloudevents import CloudEvent, encode
from services.outbound.formats import ChatMessage, OutboundMessage, OutboundRequest
from services.outbound.outcome import ReceiverResponse

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
SHA = "a" * 40
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105 - Standard Webhooks' own example
NEED = {"pools": []}


def wish(commit: str = f"github:acme/models@{SHA}") -> dict[str, object]:
    return {
        "tenant": "acme", "colony": "train", "cluster": "gpu", "uid": "u1", "generation": 1, "need": NEED,
        "commit": commit,
    }  # fmt: skip


def event(name: str, number: int = 1, domain: str = "cluster", **state: object) -> CloudEvent:
    """The n-th state of the cluster acme/train-gpu."""
    return CloudEvent(
        id=f"{domain}.train-gpu.u1.{number}",
        source=f"/alate/{domain}/acme/train-gpu",
        type=f"dev.alate.{domain}.{name}",
        subject="acme/train-gpu",
        time=EPOCH + timedelta(seconds=number),
        extensions={"correlationid": "flow"},
        data=json.dumps({"uid": "u1", "wish": wish(), **state}).encode(),
    )


async def say(bus: Bus, said: CloudEvent) -> None:
    """As its owner says it."""
    _, _, domain, name = said.type.split(".")
    headers, data = encode(said)
    await bus.publish(Message(f"{domain}.{name}.acme.train-gpu", data, headers), msg_id=said.id)


@dataclass
class Folder:
    """The file of targets and their secrets."""

    root: Path

    @property
    def file(self) -> Path:
        return self.root / "targets.yaml"

    def write(self, *targets: dict[str, object]) -> Path:
        self.file.write_text(yaml.safe_dump({"targets": list(targets)}))
        for each in targets:
            self.secret(str(each["name"]), SECRET)
        return self.file

    def secret(self, name: str, *lines: str) -> None:
        (self.root / name).write_text("\n".join(lines))


@dataclass
class Fake:
    """Receivers that keep what they are sent, and say what they are told to; 200 once there is no more."""

    got: list[OutboundRequest] = field(default_factory=list)
    answers: deque[ReceiverResponse | Exception] = field(default_factory=deque)

    texts: list[ChatMessage] = field(default_factory=list)

    async def post(self, request: OutboundMessage) -> ReceiverResponse:
        if isinstance(request, ChatMessage):
            self.texts.append(request)
        else:
            self.got.append(request)
        answer = self.answers.popleft() if self.answers else ReceiverResponse(200)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[object]:
        yield self.post

    @property
    def ids(self) -> list[str]:
        """Of the events that came, in their order."""
        return [msgspec.json.decode(each.body)["id"] for each in self.got]
