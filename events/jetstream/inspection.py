"""Reads what a NATS server and its streams are, and changes nothing."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from events.errors import Denied
from events.jetstream.api import STREAM_NOT_FOUND, ApiReply, Refused, StreamInfo, call
from events.jetstream.connection import Wire
from events.streams import StreamSpec


class _Limits(msgspec.Struct, frozen=True):
    max_storage: int = -1


class _Account(ApiReply, frozen=True):
    storage: int = 0
    limits: _Limits = _Limits()


@dataclass(frozen=True)
class ServerSeen:
    """What a server says of itself, our account and our streams."""

    version: str
    jetstream: bool
    clustered: bool
    max_payload: int
    storage_left: int | None = None
    """Bytes; None: without a limit, or not ours to know."""
    streams: dict[str, StreamInfo] = field(default_factory=dict)


async def inspect(wire: Wire, specs: Iterable[StreamSpec]) -> ServerSeen:
    """Raises `Unavailable`, `Denied`."""
    info = wire.client.server_info
    seen = ServerSeen(
        version=str(info.get("version", "")),
        jetstream=bool(info.get("jetstream")),
        clustered=bool(info.get("cluster")),
        max_payload=wire.limit,
    )
    if not seen.jetstream:
        return seen
    streams = {spec.name: found for spec in specs if (found := await _stream(wire, spec.name))}
    return ServerSeen(seen.version, seen.jetstream, seen.clustered, seen.max_payload, await _left(wire), streams)


async def _left(wire: Wire) -> int | None:
    try:
        account = await call(wire, "INFO", None, _Account)
    except (Denied, Refused):
        return None
    most = account.limits.max_storage
    return None if most < 0 else most - account.storage


async def _stream(wire: Wire, name: str) -> StreamInfo | None:
    try:
        return await call(wire, f"STREAM.INFO.{name}", None, StreamInfo)
    except Refused as no:
        if no.error.err_code == STREAM_NOT_FOUND:
            return None
        raise no.denied() from no
