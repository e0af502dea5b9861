"""Stores a verified delivery on a subject of its own, so that repeated deliveries count once.

The subject is the memory: only the first message on it is taken (compare-and-swap against 0), for as long as the
stream keeps it (14 days, the longest retries end after 4). No restart of ours or of the bus forgets it.
"""

from functools import lru_cache

import structlog

from events.bus import Bus, Conflict, Consumer, Expect, Message, Unavailable
from events.cloudevents import STRUCTURED, CloudEvent, Malformed, encode, msg_id
from events.errors import TOO_LARGE, Denied
from events.telemetry import Meters, sending
from schemas.subjects import token
from services.edge.http.problem import Problem, not_now, wrong
from services.edge.webhooks.request import WebhookRequest
from services.edge.webhooks.secrets import WebhookEndpoint

STREAM = "HOOKS"
"""The stream of deliveries."""
CONSUMER = Consumer("edge-hooks", STREAM, ("hook.>",))
"""The consumer that processes them."""
PATIENCE = 5.0
"""Seconds to wait for the bus: senders give up after ten."""
LONGEST = 16 * 1024
"""Bytes of all attributes together, which are stored in headers."""

log = structlog.get_logger()


def message(endpoint: WebhookEndpoint, request: WebhookRequest, event: CloudEvent) -> Message:
    """The message to store: the body as received, and the event's attributes in headers.

    Raises Problem 422. A structured event has its attributes in its body, as the content type says.
    """
    media = request.headers.get("content-type", "")
    try:
        headers = {"Content-Type": media} if media.lower().startswith(STRUCTURED) else encode(event)[0]
    except Malformed as why:
        raise wrong(str(why)) from why
    if sum(map(len, headers)) + sum(map(len, headers.values())) > LONGEST:
        raise wrong(f"the event's attributes are too long: at most {LONGEST} bytes together")
    return Message(f"{_place(endpoint)}.{msg_id(event)}", request.body, headers)


@lru_cache(maxsize=1024)
def _place(endpoint: WebhookEndpoint) -> str:
    return ".".join(("hook", *map(token, endpoint)))


async def store(bus: Bus, kept: Message, meters: Meters) -> None:
    """Store a delivery unless it is stored already; returns once the bus has acknowledged it.

    Raises Problem 409, 413, 503.
    """
    try:
        headers = dict(kept.headers)
        with sending(kept.subject, headers, meters):
            traced = Message(kept.subject, kept.data, headers)
            await bus.publish(traced, expect=Expect(kept.subject, 0), msg_id=kept.subject, within=PATIENCE)
    except Conflict as taken:
        raise Problem(409, "a delivery of this source and id was taken before, with another body") from taken
    except Denied as no:
        raise _refused(no) from no
    except Unavailable as away:
        raise not_now(503, "the bus is away: the delivery may not have been kept, send it again", PATIENCE) from away


def _refused(no: Denied) -> Problem:
    """The answer to a refused publish; only its size is reported to the sender, a missing permission is only logged."""
    if no.reason == TOO_LARGE:
        return Problem(413, str(no), "body")
    log.error("edge.denied", reason=str(no))
    return not_now(503, "the delivery could not be kept: send it again", PATIENCE)
