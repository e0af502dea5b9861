"""Serves an RPC service as a NATS micro service (``$SRV.PING``, ``$SRV.INFO``, ``$SRV.STATS``)."""

import asyncio
import logging

from nats.errors import Error as NatsError
from nats.micro import add_service
from nats.micro.request import Handler, Request, ServiceError

from events.bus import Unavailable
from events.errors import Denied
from events.jetstream.connection import Wire
from events.jetstream.requests import Reply, RequestLost
from events.rpc import RpcHandler, RpcService

REFUSED = "400"
CODE, WHY = "Nats-Service-Error-Code", "Nats-Service-Error"
"""Headers of a refusal (NATS ADR-32)."""

_log = logging.getLogger(__name__)


async def serve(wire: Wire, desk: RpcService) -> None:
    """Serve until cancelled, across reconnects. Raises `Unavailable` if it cannot start."""
    try:
        service = await add_service(wire.client, name=desk.name, version=desk.version, description=desk.description)
        for each in desk.questions:
            await service.add_endpoint(name=each.name, subject=each.subject, handler=_handler(each.answer))
    except NatsError as error:
        raise Unavailable(f"NATS at {wire.place} takes no service {desk.name}: {error}") from error
    try:
        await asyncio.Event().wait()
    finally:
        if not wire.closed:
            await service.stop()


async def ask(wire: Wire, subject: str, data: bytes) -> bytes:
    """Send one request once. Raises `Unavailable` without a reply, `Denied` for a refusal."""
    try:
        letter = await wire.ask(subject, data)
    except RequestLost as lost:
        raise Unavailable(f"no answer on {subject}: {lost}") from lost
    return _read(letter)


def _read(letter: Reply) -> bytes:
    headers = letter.headers or {}
    if CODE in headers:
        raise Denied(headers.get(WHY, "refused without a word"), "BadQuestion")
    return bytes(letter.data)


def _handler(answer: RpcHandler) -> Handler:
    async def handle(request: Request) -> None:
        try:
            await request.respond(await answer(request.data))
        except Denied as no:
            raise ServiceError(REFUSED, no.message) from no
        except Exception:
            _log.exception("a question on %s could not be answered", request.subject)
            raise  # the asker is told by NATS' framework

    return handle
