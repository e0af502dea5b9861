"""Creates streams and consumers when they are missing, and updates them only where they differ."""

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from events.bus import REDRIVE, Consumer, ConsumerLag
from events.jetstream.api import (
    CONSUMER_NOT_FOUND,
    STREAM_NOT_FOUND,
    ConsumerInfo,
    Consumers,
    Refused,
    StreamInfo,
    call,
)
from events.jetstream.connection import Wire
from events.streams import StreamSpec

T = TypeVar("T", StreamInfo, ConsumerInfo)

SPARE_TRIES = 8
"""Deliveries beyond a consumer's own limit, for writing the dead letter: without them a crash on the last
attempt would end in the server's silence."""
WAITING_ROOM = 16
"""How many processes' worth of unacknowledged messages a consumer allows: a dead process must not block others."""


def nanoseconds(seconds: float) -> int:
    """Seconds in JetStream's unit of time."""
    return int(seconds * 1_000_000_000)


def stream_config(spec: StreamSpec) -> dict[str, object]:
    """What we ask of a stream; limits on bytes and the like are the business of who runs NATS."""
    config: dict[str, object] = {
        "name": spec.name,
        "subjects": list(spec.taken),
        "storage": "file",
        "retention": "limits",
        "max_age": nanoseconds(spec.max_age),
        "max_msgs_per_subject": spec.per_subject,
        "duplicate_window": nanoseconds(spec.duplicate_window),
        "allow_direct": True,
        "allow_msg_ttl": True,
    }
    if spec.replicas:
        config["num_replicas"] = spec.replicas
    if spec.schedules:
        config |= {"allow_msg_schedules": True, "allow_rollup_hdrs": True}
    if spec.marker_ttl:
        config |= {"subject_delete_marker_ttl": nanoseconds(spec.marker_ttl), "allow_rollup_hdrs": True}
    return config


def consumer_config(consumer: Consumer) -> dict[str, object]:
    """What we ask of a durable consumer."""
    return {
        "name": consumer.name,
        "durable_name": consumer.name,
        "ack_policy": "explicit",
        "ack_wait": nanoseconds(consumer.ack_wait),
        "max_deliver": consumer.max_deliver + SPARE_TRIES,
        "max_ack_pending": consumer.in_flight * WAITING_ROOM,
        "filter_subjects": list(consumer.heard),
    }


def amended(theirs: Mapping[str, object], ours: Mapping[str, object]) -> dict[str, object] | None:
    """Their configuration with what we own set right, or None where it is right already."""
    if all(theirs.get(name) == value for name, value in ours.items()):
        return None
    return {**theirs, **ours}


async def ensure_stream(wire: Wire, spec: StreamSpec) -> None:
    """Raises `Denied` if the server refuses what we need, `Unavailable` if it does not answer."""
    ours = stream_config(spec)
    try:
        info = await _info(wire, f"STREAM.INFO.{spec.name}", StreamInfo, STREAM_NOT_FOUND)
        if info is None:
            await call(wire, f"STREAM.CREATE.{spec.name}", ours, StreamInfo)
        elif change := amended(info.config, ours):
            await call(wire, f"STREAM.UPDATE.{spec.name}", change, StreamInfo)
    except Refused as no:
        raise no.denied() from no


async def ensure_consumer(wire: Wire, consumer: Consumer) -> ConsumerInfo:
    """Raises `Refused` (the stream may be gone) or `Unavailable`."""
    name = f"{consumer.stream}.{consumer.name}"
    ours = consumer_config(consumer)
    info = await _info(wire, f"CONSUMER.INFO.{name}", ConsumerInfo, CONSUMER_NOT_FOUND)
    change = ours if info is None else amended(info.config, ours)
    if info and change is None:
        return info
    body = {"stream_name": consumer.stream, "config": change, "action": ""}
    return await call(wire, f"CONSUMER.CREATE.{name}", body, ConsumerInfo)


async def durables(wire: Wire, stream: str) -> tuple[ConsumerLag, ...]:
    """Every durable consumer of a stream, by name; raises `Refused` or `Unavailable`."""
    found: list[ConsumerInfo] = []
    while True:
        page = await call(wire, f"CONSUMER.LIST.{stream}", {"offset": len(found)}, Consumers)
        found += page.consumers
        if not page.consumers or len(found) >= page.total:
            places = (_place(stream, info) for info in found if info.config.get("durable_name"))
            return tuple(sorted(places, key=lambda place: place.consumer))


def _place(stream: str, info: ConsumerInfo) -> ConsumerLag:
    config = msgspec.convert(info.config, _Config)
    numbers = (info.num_pending, info.num_ack_pending, info.num_redelivered)
    filters = config.filter_subjects or (config.filter_subject,)
    own = tuple(each for each in filters if not each.startswith(f"{REDRIVE}."))
    return ConsumerLag(config.durable_name, stream, own, *numbers)


class _Config(msgspec.Struct, frozen=True):
    durable_name: str
    filter_subjects: tuple[str, ...] = ()
    filter_subject: str = ">"


async def _info(wire: Wire, subject: str, answer: type[T], missing: int) -> T | None:
    try:
        return await call(wire, subject, None, answer)
    except Refused as no:
        if no.error.err_code != missing:
            raise
        return None
