"""Requests to the JetStream API and publishes, with replies decoded and refusals as exceptions of the port."""

from datetime import UTC, datetime, timedelta
from typing import TypeVar

import msgspec
from nats.js.api import Header

from events.bus import Conflict, Expect, Message, Stored, Timer, schedule
from events.errors import TOO_LARGE, Denied
from events.jetstream.client import own_headers
from events.jetstream.connection import Wire
from events.jetstream.requests import Reply, RequestLost, status

T = TypeVar("T", bound="ApiReply")

STREAM_NOT_FOUND = 10059
CONSUMER_NOT_FOUND = 10014
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ApiError(msgspec.Struct, frozen=True):
    """An error of the JetStream API."""

    code: int = 0
    err_code: int = 0
    description: str = ""


class Refused(Exception):
    """JetStream refused a request."""

    def __init__(self, error: ApiError, subject: str) -> None:
        super().__init__(f"JetStream refused {subject}: {error.description}")
        self.error = error

    def denied(self) -> Denied:
        """The error as the port's `Denied`."""
        return Denied(str(self), reason=f"JetStream{self.error.err_code}")


class ApiReply(msgspec.Struct, frozen=True):
    """Fields of every API reply."""

    error: ApiError | None = None


class StreamInfo(ApiReply, frozen=True):
    """A stream's configuration and state."""

    created: str = ""
    config: dict[str, object] = {}
    ts: datetime | None = None
    """The server's time."""


class Delivered(msgspec.Struct, frozen=True):
    """A consumer's position in its stream."""

    stream_seq: int = 0


class ConsumerInfo(ApiReply, frozen=True):
    """A consumer's configuration and state."""

    created: str = ""
    config: dict[str, object] = {}
    delivered: Delivered = Delivered()
    num_pending: int = 0
    num_ack_pending: int = 0
    num_redelivered: int = 0


class Consumers(ApiReply, frozen=True):
    """One page of a stream's consumers."""

    total: int = 0
    consumers: list[ConsumerInfo] = []


class Purged(ApiReply, frozen=True):
    """The number of purged messages."""

    purged: int = 0


async def call(wire: Wire, subject: str, body: object, answer: type[T]) -> T:
    """Ask the API until it answers; `body` is sent as JSON, if any. Raises `Refused` or `Unavailable`."""
    decoder = msgspec.json.Decoder(answer)

    def read(msg: Reply) -> T:
        found = decoder.decode(msg.data)
        if found.error and found.error.code >= 500:
            raise RequestLost(found.error.description)
        if found.error:
            raise Refused(found.error, subject)
        return found

    data = b"" if body is None else msgspec.json.encode(body)
    return await wire.insist(f"{wire.api}.{subject}", data, None, read)


async def direct(wire: Wire, stream: str, query: object, until: float | None = None) -> Reply | None:
    """One stored message by a query of ``DIRECT.GET``, or None; `until` is a time of the loop's."""

    def read(msg: Reply) -> Reply | None:
        match status(msg):
            case "":
                return msg
            case "404":
                return None
            case code:
                refusal = ApiError(int(code), 0, _description(msg))
                raise Refused(refusal, stream).denied()

    return await wire.insist(f"{wire.api}.DIRECT.GET.{stream}", msgspec.json.encode(query), None, read, until)


def stored_direct(msg: Reply) -> Stored:
    """A message as ``DIRECT.GET`` returns it: its headers name the stream, the subject and the sequence."""
    headers = msg.headers or {}
    time = datetime.fromisoformat(headers["Nats-Time-Stamp"])
    return Stored(headers["Nats-Subject"], msg.data, own_headers(headers), int(headers["Nats-Sequence"]), time)


class Place(msgspec.Struct, frozen=True):
    """The metadata of a delivered message, from its reply subject."""

    attempt: int
    sequence: int
    order: int
    """The consumer sequence of the delivery."""
    time: int
    """When it was stored, in nanoseconds since 1970."""
    pending: int
    """Messages that are still pending for the consumer."""


def place(reply: str) -> Place:
    """Read the reply subject ``$JS.ACK.[<domain>.<account>.]<stream>.<consumer>.<attempt>.<sequence>...``."""
    tokens = reply.split(".")
    at = 4 if len(tokens) == 9 else 6  # nats-server's ADR-15: the second form is longer by domain and account
    return Place(*map(int, tokens[at : at + 5]))


def stored_delivered(msg: Reply, where: Place) -> Stored:
    """A message as a consumer delivers it."""
    time = EPOCH + timedelta(microseconds=where.time // 1000)
    return Stored(msg.subject, msg.data, own_headers(msg.headers), where.sequence, time)


def _description(msg: Reply) -> str:
    """The description in a control message."""
    # Only nats-py's own constant finds it: the key is an enum member whose hash is not that of its text.
    return (msg.headers or {}).get(Header.DESCRIPTION, "").strip()


WRONG_LAST_SEQUENCE = frozenset({10071, 10164})
HEADROOM = 8192
"""Bytes reserved for headers, since the server closes connections that exceed its limit."""
FIRED_FOR = "24h"
"""How long a fired timer's message is stored; a service that is away longer sets its timers again at start."""


class PubAck(msgspec.Struct, frozen=True):
    """The acknowledgement of a publish."""

    stream: str = ""
    seq: int = 0
    duplicate: bool = False
    error: ApiError | None = None


_decode = msgspec.json.Decoder(PubAck).decode


def read_ack(msg: Reply) -> PubAck:
    """Decode; a server that is busy or has just started (5xx) counts as no answer."""
    ack = _decode(msg.data)
    if ack.error and ack.error.code >= 500:
        raise RequestLost(ack.error.description)
    return ack


def headers_of(message: Message, expect: Expect | None, cancels: str | None, msg_id: str) -> dict[str, str]:
    """The message's own headers and what the server is to do with it."""
    headers = {**message.headers, "Nats-Msg-Id": msg_id}
    if expect:
        headers["Nats-Expected-Last-Subject-Sequence"] = str(expect.sequence)
        headers["Nats-Expected-Last-Subject-Sequence-Subject"] = expect.history
    if cancels:
        headers["Nats-Scheduler"] = cancels
        headers["Nats-Schedule-Next"] = "purge"
    return headers


def timer_headers(timer: Timer) -> dict[str, str]:
    """What makes a message a timer of the server's."""
    return {**schedule(timer), "Nats-Schedule-Target": timer.target, "Nats-Schedule-TTL": FIRED_FOR}


async def publish(  # noqa: PLR0913 - the port's own, on a wire
    wire: Wire,
    message: Message,
    *,
    expect: Expect | None = None,
    cancels: str | None = None,
    msg_id: str | None = None,
    within: float | None = None,
) -> int:
    """Store the message and return its sequence; raises `Conflict`, `Denied` or `Unavailable`. See the port."""
    if len(message.data) + HEADROOM > wire.limit:
        raise too_large(message, wire.limit - HEADROOM)
    own, until = msg_id or wire.unique(), wire.until(within)
    headers = headers_of(message, expect, cancels, own)
    ack = await wire.insist(message.subject, message.data, headers, read_ack, until)
    if ack.error is None and not (ack.duplicate and expect):
        return ack.seq
    if expect and (ack.error is None or ack.error.err_code in WRONG_LAST_SEQUENCE):
        return await _ours(wire, ack.stream, expect, message, own, until=until)
    raise Refused(ack.error or ApiError(), message.subject).denied()


def too_large(message: Message, limit: int) -> Denied:
    """The error for a message that is too large."""
    size = len(message.data)
    return Denied(f"a message of {size} bytes on {message.subject} is too large: at most {limit}", TOO_LARGE)


async def _ours(  # noqa: PLR0913 - what was said, where, and by when
    wire: Wire, stream: str, expect: Expect, message: Message, own: str, *, until: float
) -> int:
    """Whether this message itself is stored after the expected sequence, so that only its acknowledgement was lost."""
    query = {"seq": expect.sequence + 1, "next_by_subj": expect.history}
    winner = await direct(wire, stream, query, until)
    if winner is None or winner.headers is None or winner.headers.get("Nats-Msg-Id") != own:
        raise Conflict(expect.sequence)
    # Replicas that race name their transitions alike; only equal contents make the winner's message ours.
    if winner.data != message.data or winner.headers["Nats-Subject"] != message.subject:
        raise Conflict(expect.sequence)
    return int(winner.headers["Nats-Sequence"])
