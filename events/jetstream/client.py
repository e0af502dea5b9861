"""nats-py's client, with private methods replaced: for speed, for keys that change, and to close sockets.

What they do may change with any release of nats-py, so its version is pinned exactly. Each replacement is held
against the original on a real server: headers in tests/events/jetstream/test_client_headers.py, callbacks in
test_client_callbacks.py, sockets in test_client_sockets.py, keys in test_client.py.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.protocol.command import hpub_cmd

from events.bus import MARKER, SCHEDULE
from events.errors import Denied
from events.jetstream.credentials import seed

if TYPE_CHECKING:
    from nats.aio.client import Srv

BLANKS = " \t\n\r\v\f"
"""What Python strips from bytes; from text it would strip more."""
_NAME = re.compile(r"[A-Za-z0-9-]+")

Callback = Callable[[Msg], None]
"""Takes note of one message, raises nothing, and waits for nothing: the connection reads no further meanwhile."""


class NatsClient(Client):
    """nats-py's client, which reads and writes headers in one go and calls back without a queue and a task between."""

    def __init__(self) -> None:
        super().__init__()
        self._callbacks: dict[int, Callback] = {}

    @property
    def server_info(self) -> Mapping[str, object]:
        """What the server says of itself when a client connects."""
        return self._server_info

    async def listen(self, subject: str, callback: Callback) -> Subscription:
        """Call back with every message on the subject, also after a reconnect, until `unlisten`."""
        self._callbacks[self._sid + 1] = callback  # the next to be given; known beforehand, for an answer may be quick
        return await self.subscribe(subject)

    async def unlisten(self, subscription: Subscription) -> None:
        """Call back no longer."""
        self._callbacks.pop(subscription._id, None)  # noqa: SLF001 - its number on the wire
        await subscription.unsubscribe()

    async def _process_msg(self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes) -> None:
        callback = self._callbacks.get(sid)
        if callback is None:
            await super()._process_msg(sid, subject, reply, data, headers)
            return
        self.stats["in_msgs"] += 1
        self.stats["in_bytes"] += len(data)
        read = await self._process_headers(headers) if headers else None
        callback(self._build_message(sid, subject, reply, data, read))

    async def _send_publish(
        self, subject: str, reply: str, payload: bytes, payload_size: int, headers: dict[str, str] | None
    ) -> None:
        block = encode_headers(headers) if headers else None
        if block is None:  # nothing, or something unusual
            await super()._send_publish(subject, reply, payload, payload_size, headers)
            return
        self.stats["out_msgs"] += 1
        self.stats["out_bytes"] += payload_size
        await self._send_command(hpub_cmd(subject, reply, block, payload))
        if self._flush_queue is not None and self._flush_queue.empty():
            await self._flush_pending()

    @staticmethod
    def _parse_header_lines(raw: bytes) -> dict[str, str]:
        found = decode_headers(raw)
        return Client._parse_header_lines(raw) if found is None else found  # noqa: SLF001 - its own subclass asks

    async def _connect_to_server(self, s: "Srv") -> None:
        """Close the socket of the attempt before, which nats-py leaves to the garbage collector."""
        if self._transport:
            self._transport.close()  # type: ignore[no-untyped-call]
        await super()._connect_to_server(s)

    def _connect_command(self) -> bytes:
        """Read the key's file for each connection: nats-py reads the public half once only."""
        if self._nkeys_seed:
            try:
                seed(Path(self._nkeys_seed))
            except Denied as half:  # written just now, perhaps: nats-py retries after an error of the network
                raise ConnectionError(half.message) from half
            self._setup_nkeys_seed_connect()
        return super()._connect_command()


def encode_headers(headers: Mapping[str, str]) -> bytes | None:
    """The header block; None for odd names, and for line breaks, which nats-py takes out."""
    lines = "\r\n".join([f"{name}: {value.strip()}" for name, value in headers.items()])
    breaks = len(headers) - 1
    if lines.count("\n") != breaks or lines.count("\r") != breaks or not _plain(tuple(headers)):
        return None
    return f"NATS/1.0\r\n{lines}\r\n\r\n".encode()


def decode_headers(raw: bytes) -> dict[str, str] | None:
    """The headers of a block without its first line; None for odd names, odd lines, and what is not UTF-8."""
    try:
        pairs = [line.split(":", 1) for line in raw.decode().split("\r\n") if line]
        headers = {name: value.strip(BLANKS) for name, value in pairs}
    except ValueError:  # not UTF-8, or a line without a colon
        return None
    return headers if _plain(tuple(headers)) else None


def own_headers(headers: Mapping[str, str] | None) -> dict[str, str]:
    """A message's own headers, without those of the server; a timer's time and a marker's reason are its own."""
    return {name: value for name, value in (headers or {}).items() if name[:5] != "Nats-" or name in (SCHEDULE, MARKER)}


@lru_cache(maxsize=256)
def _plain(names: tuple[str, ...]) -> bool:
    """Whether all names are ordinary; messages of a kind have the same names in the same order."""
    return all(map(_NAME.fullmatch, names))
