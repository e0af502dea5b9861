"""Turns requests on the bus into Colonies and AddonProfiles, which kubectl shows, and answers their senders."""

import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import TypeVar

import msgspec
import structlog

from events.bus import Consumer, Delivery
from events.cloudevents import CloudEvent, Malformed, decode
from events.errors import Denied, NotFound
from events.kube.client import Kube, Object
from events.kube.resources import COLONIES
from events.telemetry import NOWHERE, Trace, extract, hearing
from schemas import durations
from schemas.crds import InvalidResource, read_colony
from schemas.registry import Stream, declared
from schemas.requests import (
    ClusterRequest,
    ExtendRequest,
    ProfileRequest,
    ReleaseRequest,
    ScaleRequest,
    WithdrawRequest,
)
from schemas.subjects import Key, names_of
from services.clients.colonies import apply_edit
from services.colony.edits import NoSuchPool, Patch, WrongPhase, extending, scaling
from services.gateway.profile_requests import MANAGER, ProfileRequests
from services.gateway.wishes import event_annotations, release_annotations
from services.kubernetes.labels import FORCE, ORIGIN
from services.runtime.consumer import LONGEST, Worker
from services.runtime.context import Context

T = TypeVar("T")
C = TypeVar("C", ScaleRequest, ExtendRequest)
R = TypeVar("R", ReleaseRequest, WithdrawRequest)
LARGEST = 256 * 1024
"""Bytes of a request: far more than any Colony needs, far less than what the API server takes."""
WAITS = 12 * 86_400
"""Seconds a request may wait for the API server: less than its stream keeps it, so that it ends as a dead letter."""
CONSUMER = Consumer(
    "gateway-intake",
    Stream.INTAKE,
    (
        "cluster.requested",
        "cluster.requested.*",
        "colony.release.*.*",
        "colony.scale.*.*.*",
        "colony.extend.*.*.*",
        "profile.requested.*",
        "profile.withdraw.*.*",
    ),
    max_deliver=int(WAITS / LONGEST),
)
INVALID = (Malformed, InvalidResource, NoSuchPool, WrongPhase, msgspec.DecodeError, Denied, NotFound)
"""Errors of a request that can never be fulfilled."""
REPLY_TO = "Alate-Reply-To"
"""The header with the sender's inbox.

The reply subject of a publish to a stream is used by the stream's own acknowledgement, which says only that the message
is stored. A header is stored with the message, so that the worker can answer however much later.
"""
_INBOX = re.compile(r"_INBOX(?:_[A-Za-z0-9_-]+)?(?:\.[A-Za-z0-9_-]+){1,8}")
"""Nothing but an inbox, so that a request cannot have us publish where its sender may not."""

log = structlog.get_logger()


class RequestOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to the sender of a request."""

    id: str
    """The request's ``ce-id``."""
    accepted: bool
    colony: str = ""
    """The name of its Colony or AddonProfile, if it was accepted."""
    reason: str = ""
    """If it was not accepted: what is wrong with it, and what would be right. It is a dead letter then."""

    def encoded(self) -> bytes:
        """As JSON."""
        return msgspec.json.encode(self)


def reply_to(headers: Mapping[str, str]) -> str:
    """The inbox that a message names; empty if it names none."""
    named = headers.get(REPLY_TO, "")
    return named if _INBOX.fullmatch(named) else ""


class IntakeWorker:
    """Handles the requests one after another."""

    def __init__(self, context: Context, kube: Kube) -> None:
        self._context = context
        self._bus = context.bus
        self._kube = kube
        self._clock = context.clock
        self._meters = context.meters
        self._handlers: Mapping[str, Callable[[Delivery], Awaitable[str]]] = {
            "cluster.requested": self._create,
            "colony.release": self._release,
            "colony.scale": self._scale,
            "colony.extend": self._extend,
            "profile.requested": self._create_profile,
            "profile.withdraw": self._withdraw_profile,
        }
        """By the first two tokens of the subject; each returns the name of the Colony or the AddonProfile."""
        self._profiles = ProfileRequests(context.bus, kube)

    async def run(self) -> None:
        """Handle requests for ever."""
        await Worker(self._context, CONSUMER, self._handle, invalid=INVALID, rejected=self._reply_refused).run()

    async def _handle(self, delivery: Delivery) -> None:
        """Fulfil one request and reply. Raises TryLater, or one of `INVALID` if it can never be fulfilled."""
        stored = delivery.stored
        with hearing(Key("intake", CONSUMER.stream, str(stored.sequence)), stored, self._meters, self._clock):
            name = await self._handlers[".".join(stored.subject.split(".", 2)[:2])](delivery)
            log.info("intake.accepted", subject=stored.subject, name=name)
            await delivery.ack()
            await self._reply(delivery, accepted=True, colony=name)

    async def _reply_refused(self, delivery: Delivery, reason: str) -> None:
        await self._reply(delivery, accepted=False, reason=reason)

    async def _reply(self, delivery: Delivery, *, accepted: bool, colony: str = "", reason: str = "") -> None:
        """Send the outcome to the inbox that the request names, if it names one."""
        headers = delivery.stored.headers
        if inbox := reply_to(headers):
            outcome = RequestOutcome(id=headers.get("ce-id", ""), accepted=accepted, colony=colony, reason=reason)
            await self._bus.notify(inbox, outcome.encoded())

    async def _create(self, delivery: Delivery) -> str:
        """Create the Colony of a request, unless it was released since: a late request creates nothing."""
        colony = read_request(delivery)
        name, tenant = colony["metadata"]["name"], colony["metadata"]["namespace"]
        released = await self._bus.last(Stream.INTAKE, declared(ReleaseRequest).at(tenant, name))
        if released is not None and released.sequence > delivery.stored.sequence:
            log.info("intake.late", tenant=tenant, name=name)
        else:
            await self._kube.apply(COLONIES, colony, manager=MANAGER)
        return str(name)

    async def _release(self, delivery: Delivery) -> str:
        """Delete a Colony, annotated with the event that released it; one that is gone already counts as deleted."""
        event, asked = read_release(delivery, ReleaseRequest)
        try:
            meta = (await self._kube.get(COLONIES, asked.name, asked.tenant))["metadata"]
            if asked.origin and (origin := meta.get("labels", {}).get(ORIGIN, "")) != asked.origin:
                raise Malformed(f"Colony {asked.name} is of origin {origin or '(none)'}, not of {asked.origin}")
            if annotations := _release_notes(event, asked, delivery, meta):
                metadata = {"uid": meta["uid"], "annotations": annotations}
                await self._kube.patch(COLONIES, asked.name, asked.tenant, {"metadata": metadata}, manager=MANAGER)
            await self._kube.delete(COLONIES, asked.name, asked.tenant, uid=meta["uid"])
        except NotFound:
            log.info("intake.released_already", tenant=asked.tenant, name=asked.name)
        return asked.name

    async def _scale(self, delivery: Delivery) -> str:
        """Write another number of nodes into a Colony, unless a later request for the cluster exists."""
        asked, subject = read_change(delivery, ScaleRequest), delivery.stored.subject
        last = await self._bus.last(Stream.INTAKE, subject)
        if last is not None and last.sequence > delivery.stored.sequence:
            log.info("intake.late", tenant=asked.tenant, name=asked.name)
        else:
            await self._edit(asked, lambda colony: scaling(colony, asked.cluster, asked.nodes))
        return asked.name

    async def _extend(self, delivery: Delivery) -> str:
        """Write a longer time to live into a Colony, unless it has it already."""
        asked = read_change(delivery, ExtendRequest)
        life = _duration(asked.time_to_live)
        await self._edit(asked, lambda colony: extending(colony, asked.cluster, life))
        return asked.name

    async def _create_profile(self, delivery: Delivery) -> str:
        """Create or change an AddonProfile."""
        event, asked = read_profile_request(delivery)
        await self._profiles.create(event, asked, delivery.stored)
        return asked.name

    async def _withdraw_profile(self, delivery: Delivery) -> str:
        """Delete an AddonProfile."""
        _, asked = read_release(delivery, WithdrawRequest)
        await self._profiles.withdraw(asked)
        return asked.name

    async def _edit(self, asked: ScaleRequest | ExtendRequest, edit: Callable[[Object], Patch]) -> None:
        await apply_edit(self._kube, asked.tenant, asked.name, edit)


def _release_notes(event: CloudEvent, asked: ReleaseRequest, delivery: Delivery, meta: Object) -> Mapping[str, str]:
    """The annotations of a Colony that is released: the event, unless it is being deleted already, and the force."""
    by = {} if meta.get("deletionTimestamp") else release_annotations(event.id, extract(delivery.stored.headers))
    return {**by, **({FORCE: "true"} if asked.force else {})}


def _duration(text: str) -> timedelta:
    """Parse a duration. Raises Malformed."""
    try:
        return durations.parse(text)
    except ValueError as wrong:
        raise Malformed(f"timeToLive is {text!r}: {wrong}") from wrong


def read_change(delivery: Delivery, kind: type[C]) -> C:
    """The change of a cluster that a message requests. Raises msgspec.DecodeError, Malformed."""
    asked = _decoded(lambda: msgspec.json.decode(read_event(delivery).data, type=kind))
    names, named = names_of(delivery.stored.subject)[2:], (asked.tenant, asked.name, asked.cluster)
    if names != named:
        raise Malformed(f"the subject names {'/'.join(names)}, the request {'/'.join(named)}: must be equal")
    return asked


def read_release(delivery: Delivery, kind: type[R]) -> tuple[CloudEvent, R]:
    """The event in a message, and the deletion that it requests. Raises msgspec.DecodeError, Malformed."""
    event = read_event(delivery)
    asked = _decoded(lambda: msgspec.json.decode(event.data, type=kind))
    names = names_of(delivery.stored.subject)[2:]
    if names != (asked.tenant, asked.name):
        raise Malformed(f"the subject names {'/'.join(names)}, the request {asked.tenant}/{asked.name}: must be equal")
    return event, asked


def read_profile_request(delivery: Delivery) -> tuple[CloudEvent, ProfileRequest]:
    """The event in a message, and the AddonProfile that it requests. Raises msgspec.DecodeError, Malformed."""
    event = read_event(delivery)
    asked = _decoded(lambda: msgspec.json.decode(event.data, type=ProfileRequest))
    _check_tenant(names_of(delivery.stored.subject)[2:], asked.tenant)
    return event, asked


def read_request(delivery: Delivery) -> Object:
    """The Colony that a message requests. Raises msgspec.DecodeError, InvalidResource, Malformed."""
    return _decoded(lambda: _requested_colony(delivery))


def _requested_colony(delivery: Delivery) -> Object:
    """The Colony, with the time of the request: a cluster that ended since is not created by a late delivery."""
    event, stored = read_event(delivery), delivery.stored
    colony = colony_of(event, names_of(stored.subject)[2:], extract(stored.headers))
    asked_at = min(event.time or stored.time, stored.time)
    for cluster in colony["spec"]["clusters"]:
        cluster.setdefault("askedAt", msgspec.to_builtins(asked_at))
    return colony


def _decoded(read: Callable[[], T]) -> T:
    """The result of `read`. Raises what `read` raises; Malformed for text that no decoder can take."""
    try:
        return read()
    except UnicodeDecodeError as wrong:
        raise Malformed(f"the request must be UTF-8 text: {wrong}") from wrong
    except RecursionError as wrong:  # brackets nested too deep for the decoder
        raise Malformed("the request is nested too deep to be read") from wrong


def read_event(delivery: Delivery) -> CloudEvent:
    """The CloudEvent in a message, in binary or structured mode. Raises Malformed."""
    size = len(delivery.stored.data)
    if size > LARGEST:
        raise Malformed(f"the request has {size} bytes: at most {LARGEST} are taken")
    return decode(delivery.stored.headers, delivery.stored.data)


def colony_of(event: CloudEvent, tenant_of_subject: tuple[str, ...], trace: Trace = NOWHERE) -> Object:
    """The Colony that a request asks for. Raises msgspec.DecodeError, InvalidResource, Malformed."""
    asked = msgspec.json.decode(event.data, type=ClusterRequest)
    _check_tenant(tenant_of_subject, asked.tenant)
    colony: Object = {
        "apiVersion": COLONIES.api_version,
        "kind": COLONIES.kind,
        "metadata": {
            "name": asked.name,
            "namespace": asked.tenant,
            "labels": {ORIGIN: asked.origin},
            "annotations": event_annotations(event.id, trace),
        },
        "spec": asked.spec,
    }
    read_colony(colony)
    return colony


def _check_tenant(of_subject: tuple[str, ...], asked: str) -> None:
    if of_subject and of_subject != (asked,):
        raise Malformed(f"the subject is of tenant {of_subject[0]}, the request of {asked}: must be equal")
