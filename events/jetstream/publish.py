"""A publish with compare-and-swap must store once, however often its acknowledgement is lost."""

import msgspec

from events.bus import Conflict, Expect, Message, Timer
from events.errors import TOO_LARGE, Denied
from events.jetstream.api import ApiError, Refused, direct
from events.jetstream.connection import Wire
from events.jetstream.requests import Letter, Lost
from events.timers import schedule

WRONG_LAST_SEQUENCE = frozenset({10071, 10164})
HEADROOM = 8192
"""Bytes kept free for headers: the server cuts the connection of whoever exceeds its limit by them."""
FIRED_FOR = "24h"
"""How long a fired timer's message is kept; a service away for longer sets its timers anew at boot."""


class PubAck(msgspec.Struct, frozen=True):
    """What the stream says to a publish."""

    stream: str = ""
    seq: int = 0
    duplicate: bool = False
    error: ApiError | None = None


_decode = msgspec.json.Decoder(PubAck).decode


def read_ack(msg: Letter) -> PubAck:
    """Decode; a server that is busy or has just started (5xx) counts as no answer."""
    ack = _decode(msg.data)
    if ack.error and ack.error.code >= 500:
        raise Lost(ack.error.description)
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
    """Store the message and give its sequence; raises `Conflict`, `Denied` or `Unavailable`. See the port."""
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
    """The fault of a message that no server takes."""
    size = len(message.data)
    return Denied(f"a message of {size} bytes on {message.subject} is too large: at most {limit}", TOO_LARGE)


async def _ours(  # noqa: PLR0913 - what was said, where, and by when
    wire: Wire, stream: str, expect: Expect, message: Message, own: str, *, until: float
) -> int:
    """Who took the place after the expected one? If this very message, its acknowledgement was lost."""
    query = {"seq": expect.sequence + 1, "next_by_subj": expect.history}
    winner = await direct(wire, stream, query, until)
    if winner is None or winner.headers is None or winner.headers.get("Nats-Msg-Id") != own:
        raise Conflict(expect.sequence)
    # Replicas that race name their transitions alike; only equal contents make the winner's message ours.
    if winner.data != message.data or winner.headers["Nats-Subject"] != message.subject:
        raise Conflict(expect.sequence)
    return int(winner.headers["Nats-Sequence"])
