"""The bare reference for a transition: a compare-and-swap publish with nothing around it."""

import asyncio
import itertools
from collections.abc import Iterable, Iterator, Sequence
from time import perf_counter
from types import TracebackType
from typing import Self

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg

from events.bus import Stored

EXPECTED = "Nats-Expected-Last-Subject-Sequence"
SPECIAL = ("Nats-Msg-Id", f"{EXPECTED}-Subject")

History = Sequence[tuple[str, bytes, dict[str, str]]]
"""One entity's messages, oldest first: subject, bytes, headers."""


class _Ack(msgspec.Struct):
    seq: int


class BarePublisher:
    """A nats-py connection, one inbox, one future per publish.

    No time-outs, no retries, no check but that the server stored it; headers and bytes are made beforehand, only
    the expected sequence is put in. The client is nats-py's as it comes: it encodes headers its own way, one by one,
    where ours has `events.jetstream.client`. A bare loop given that as well is faster still.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._client = Client()
        self._numbers = itertools.count()
        self._open: dict[str, asyncio.Future[bytes]] = {}
        self._decode = msgspec.json.Decoder(_Ack).decode

    async def __aenter__(self) -> Self:
        await self._client.connect(self._url)
        self._inbox = self._client.new_inbox() + "."
        await self._client.subscribe(self._inbox + "*", cb=self._answered)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.close()

    async def publish(self, subject: str, data: bytes, headers: dict[str, str]) -> int:
        """Store one message; raises if it was not stored."""
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        number = str(next(self._numbers))
        self._open[number] = future
        await self._client.publish(subject, data, self._inbox + number, headers)
        return self._decode(await future).seq

    async def _answered(self, msg: Msg) -> None:
        self._open.pop(msg.subject[len(self._inbox) :]).set_result(msg.data)

    async def play(self, histories: Iterable[History], in_flight: int) -> float:
        """Publish every history, each in its order, `in_flight` of them at a time; gives seconds."""
        waiting = iter(histories)
        began = perf_counter()
        async with asyncio.TaskGroup() as group:
            for _ in range(in_flight):
                group.create_task(self._play(waiting))
        return perf_counter() - began

    async def _play(self, waiting: Iterator[History]) -> None:
        for history in waiting:
            sequence = 0
            for subject, data, headers in history:
                headers[EXPECTED] = str(sequence)
                sequence = await self.publish(subject, data, headers)


def replay(walked: Sequence[Stored], tenant: str, names: Iterable[str]) -> list[History]:
    """What one entity said, said by others in another tenant: the same headers and bytes, but for names as long."""
    _, _, old_tenant, old_name = walked[0].subject.split(".")

    def another(text: str, name: str) -> str:
        return text.replace(old_tenant, tenant).replace(old_name, name)

    def said(stored: Stored, number: int, name: str) -> tuple[str, bytes, dict[str, str]]:
        subject = another(stored.subject, name)
        headers = {key: another(value, name) for key, value in stored.headers.items()}
        special = (f"{tenant}{name}{number}".ljust(32, "0"), f"{subject.split('.')[0]}.*.{tenant}.{name}")
        data = stored.data.replace(old_name.encode(), name.encode())
        return subject, data, headers | dict(zip(SPECIAL, special, strict=True))

    return [[said(stored, number, name) for number, stored in enumerate(walked)] for name in names]
