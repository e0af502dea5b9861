"""Headers are encoded in one stroke, because nats-py's way, one by one, is half of what a publish costs."""

import re
from collections.abc import Mapping
from functools import lru_cache

from nats.aio.client import Client
from nats.protocol.command import hpub_cmd

_NAME = re.compile(r"[A-Za-z0-9-]+")


class Sender(Client):
    """nats-py's client, which sends the same bytes with less work."""

    async def _send_publish(
        self, subject: str, reply: str, payload: bytes, payload_size: int, headers: dict[str, str] | None
    ) -> None:
        # Private to nats-py, and the only way in: tests/events/test_jetstream_sender.py holds both ways together.
        encoded = encode(headers) if headers else None
        if encoded is None:
            await super()._send_publish(subject, reply, payload, payload_size, headers)
            return
        self.stats["out_msgs"] += 1
        self.stats["out_bytes"] += payload_size
        await self._send_command(hpub_cmd(subject, reply, encoded, payload))
        if self._flush_queue is not None and self._flush_queue.empty():
            await self._flush_pending()


def encode(headers: Mapping[str, str]) -> bytes | None:
    """The header block; None where nats-py must look closer: odd names, or line breaks that it takes out."""
    lines = "\r\n".join([f"{name}: {value}" for name, value in headers.items()])
    breaks = len(headers) - 1
    if lines.count("\n") != breaks or lines.count("\r") != breaks or not all(map(_plain, headers)):
        return None
    return f"NATS/1.0\r\n{lines}\r\n\r\n".encode()


@lru_cache(maxsize=256)
def _plain(name: str) -> bool:
    return _NAME.fullmatch(name) is not None
