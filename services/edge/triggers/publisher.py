"""Publishes the requests of a rule, once per delivery or message."""

from collections.abc import Mapping
from contextlib import aclosing
from datetime import datetime
from hashlib import blake2b

from events.bus import CaughtUp, Message
from events.cloudevents import Malformed, decode, encode, msg_id
from events.telemetry import sending
from schemas.registry import Stream, declared
from schemas.requests import ClusterRequest, ProfileRequest, ReleaseRequest, WithdrawRequest
from schemas.subjects import token
from services.edge.triggers.cause import cause_of, caused_event
from services.edge.triggers.delivery import Heard
from services.edge.triggers.rules import IntakeRequest, RuleResult
from services.runtime.context import Context

Creating = ClusterRequest | ProfileRequest
RequestCause = tuple[str, int]
"""A stream and a sequence in it."""
CREATED_ON: dict[type[Creating], str] = {ClusterRequest: "cluster.requested", ProfileRequest: "profile.requested"}
"""Where requests are published that create something; the tenant follows."""
DELETING: dict[type[Creating], type[ReleaseRequest | WithdrawRequest]] = {
    ClusterRequest: ReleaseRequest,
    ProfileRequest: WithdrawRequest,
}
"""The requests that delete what was created."""


def intake_message(result: RuleResult, intake: IntakeRequest, heard: Heard, now: datetime) -> tuple[Message, str]:
    """The message and its id for deduplication: the same request of the same rule is stored once within a week."""
    once = blake2b(result.once.encode(errors="backslashreplace"), digest_size=16).hexdigest()
    event = caused_event(intake, heard, f"{result.rule}.{once}", source_of(intake.tenant, result.trigger), now)
    headers, data = encode(event)
    return Message(_subject(intake), data, headers), msg_id(event)


def source_of(tenant: str, trigger: str) -> str:
    """The CloudEvents source of a Trigger's requests."""
    return f"/triggers/{tenant}/{trigger}"


def _subject(intake: IntakeRequest) -> str:
    if isinstance(intake, ClusterRequest | ProfileRequest):
        return f"{CREATED_ON[type(intake)]}.{token(intake.tenant)}"
    return declared(type(intake)).at(intake.tenant, intake.name)


class IntakePublisher:
    """Publishes requests at intake. Raises Unavailable."""

    def __init__(self, context: Context) -> None:
        self._bus = context.bus
        self._clock = context.clock
        self._meters = context.meters

    async def publish(self, message: Message, once: str) -> None:
        """Store a message unless one with the same id is stored already."""
        headers = dict(message.headers)
        with sending(message.subject, headers, self._meters):
            await self._bus.publish(Message(message.subject, message.data, headers), msg_id=once)

    async def requests_since(
        self, kind: type[Creating], tenant: str, trigger: str, since: datetime
    ) -> Mapping[RequestCause, datetime]:
        """The times of a Trigger's requests since a time, by cause; other replicas may have published them."""
        source, subject = source_of(tenant, trigger), f"{CREATED_ON[kind]}.{token(tenant)}"
        found = {}
        async with aclosing(self._bus.follow(Stream.INTAKE, subject, since=since)) as feed:
            async for stored in feed:
                if isinstance(stored, CaughtUp):
                    break
                if stored.headers.get("ce-source") == source:
                    found[cause_of(stored.headers, "ce-")] = stored.time
        return found

    async def is_late(self, intake: IntakeRequest, heard: Heard) -> bool:
        """Whether something later has had it deleted: a request that is processed after a crash would leak it."""
        if not isinstance(intake, ClusterRequest | ProfileRequest):
            return False
        deleting = declared(DELETING[type(intake)]).at(intake.tenant, intake.name)
        deleted = await self._bus.last(Stream.INTAKE, deleting)
        if deleted is None:
            return False
        try:
            stream, sequence = cause_of(decode(deleted.headers, deleted.data).extensions)
        except Malformed:  # anyone may publish there, in any form
            return False
        return stream == heard.stream and sequence > heard.sequence
