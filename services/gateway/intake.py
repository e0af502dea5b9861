"""What anyone asks for on the bus becomes a Colony, so that kubectl shows it and can delete it."""

from collections.abc import Callable
from contextlib import aclosing

import msgspec
import structlog

from events.bus import Bus, Consumer, Delivery, Unavailable
from events.cloudevents import CloudEvent, Malformed, decode
from events.faults import Denied, NotFound, TryLater
from events.kinds import COLONIES
from events.kube import Kube, Object
from schemas.crds import Refused, read_colony
from schemas.registry import Stream
from schemas.subjects import names_of
from schemas.wish import ClusterRequested
from services.clouds.port import GROUP
from services.gateway.wishes import EVENT

ORIGIN = f"{GROUP}/origin"
MANAGER = "alate-intake"
LARGEST = 256 * 1024
"""Bytes of a request: far more than any Colony needs, far less than what the API server takes."""
CONSUMER = Consumer("gateway-intake", Stream.INTAKE, ("cluster.requested", "cluster.requested.*"))

log = structlog.get_logger()


class Intake:
    """Works off the requests, one after another."""

    def __init__(self, bus: Bus, kube: Kube, jitter: Callable[[], float]) -> None:
        self._bus = bus
        self._kube = kube
        self._jitter = jitter

    async def run(self) -> None:
        """Listen for ever."""
        async with aclosing(self._bus.consume(CONSUMER)) as deliveries:
            async for delivery in deliveries:
                try:
                    await self._take(delivery)
                except Unavailable as away:  # it could not be answered, so it comes again
                    log.warning("bus.unavailable", subject=delivery.stored.subject, reason=str(away))

    async def _take(self, delivery: Delivery) -> None:
        """Make a Colony of a request; what can never be one goes to the dead letters, with one clear sentence."""
        subject = delivery.stored.subject
        try:
            colony = read_request(delivery)
            await self._kube.apply(COLONIES, colony, manager=MANAGER)
        except TryLater as later:
            await delivery.retry(later.after * (1 + self._jitter()))
        except (Malformed, Refused, msgspec.DecodeError, Denied, NotFound) as why:
            log.warning("intake.refused", subject=subject, reason=str(why))
            await delivery.dead(f"{subject}: {why}")
        else:
            log.info("intake.accepted", subject=subject, name=colony["metadata"]["name"])
            await delivery.ack()


def read_request(delivery: Delivery) -> Object:
    """The Colony a message asks for. Raises msgspec.DecodeError, Refused, Malformed."""
    try:
        return colony_of(read_event(delivery), names_of(delivery.stored.subject)[2:])
    except UnicodeDecodeError as wrong:
        raise Malformed(f"the request must be UTF-8 text: {wrong}") from wrong
    except RecursionError as wrong:  # what a decoder says of brackets without end
        raise Malformed("the request is nested too deep to be read") from wrong


def read_event(delivery: Delivery) -> CloudEvent:
    """The CloudEvent in a message, in either mode. Raises Malformed."""
    size = len(delivery.stored.data)
    if size > LARGEST:
        raise Malformed(f"the request has {size} bytes: at most {LARGEST} are taken")
    return decode(delivery.stored.headers, delivery.stored.data)


def colony_of(event: CloudEvent, tenant_of_subject: tuple[str, ...]) -> Object:
    """The Colony a request asks for. Raises msgspec.DecodeError, Refused, Malformed."""
    asked = msgspec.json.decode(event.data, type=ClusterRequested)
    if tenant_of_subject and tenant_of_subject != (asked.tenant,):
        raise Malformed(
            f"the subject is of tenant {tenant_of_subject[0]}, the request of {asked.tenant}: must be equal"
        )
    colony: Object = {
        "apiVersion": COLONIES.api_version,
        "kind": COLONIES.kind,
        "metadata": {
            "name": asked.name,
            "namespace": asked.tenant,
            "labels": {ORIGIN: asked.origin},
            "annotations": {EVENT: event.id},
        },
        "spec": asked.spec,
    }
    read_colony(colony)
    return colony
