"""The live replicas of a service, in a key-value bucket of NATS: its entries expire, by the clock of NATS."""

import asyncio

import msgspec
import structlog

from events.bus import Bus, Message, Unavailable
from events.streams import TTL, tombstone
from schemas.member import MEMBER, ServiceMember
from schemas.subjects import names_of
from services.runtime.context import Context
from services.runtime.read_model import ReadModel
from services.runtime.share import ShareChange, ShareListener, owner

RENEW = 1.0
"""Seconds between two renewals of an entry."""
EXPIRES = 3
"""Seconds after which an entry expires that is not renewed."""
GRACE = 1.0
"""Seconds for which a member whose entry is gone still counts: after an outage of NATS all come back at once."""
LEFT_FOR = 60
"""Seconds for which it is stored that a member has left."""
LIVE = "alate.members"
"""Gauge of the live replicas that a replica knows, by service."""

log = structlog.get_logger()


class ServiceMembers:
    """One replica's entry in the bucket, and its share among all that are there: see `Share`."""

    def __init__(self, context: Context, service: str, member: str, about: ServiceMember) -> None:
        """`member` is the replica's own name, which no other running replica of the service has."""
        self.ready = asyncio.Event()
        """Set once the others are known, and this one to them."""
        self._bus: Bus = context.bus
        self._service = service
        self._member = member
        self._meters = context.meters
        self._entry = msgspec.json.encode(about)
        self._subject = MEMBER.at(service, member)
        self._live = frozenset((member,))
        self._listeners: list[ShareListener] = []
        self._leaving: dict[str, asyncio.TimerHandle] = {}
        self._view: ReadModel[str, ServiceMember] = ReadModel(
            context.bus, (MEMBER.under(service),), (MEMBER,), lambda subject: names_of(subject)[-1], context.meters
        )

    @property
    def live(self) -> frozenset[str]:
        """The members by name, this one included."""
        return self._live

    def mine(self, key: str) -> bool:
        """See `Share`."""
        return owner(key, self._live) == self._member

    def listen(self, changed: ShareListener) -> None:
        """See `Share`."""
        self._listeners.append(changed)

    async def run(self) -> None:
        """Renew the entry and follow the others until cancelled; then leave."""
        self._view.listen(lambda member, _: self._came(member), self._went)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._view.run())
                await self._view.ready.wait()
                await self._renew_for_ever()
        finally:
            for timer in self._leaving.values():
                timer.cancel()
            await self._leave()

    async def _renew_for_ever(self) -> None:
        while True:
            try:
                await self._bus.publish(Message(self._subject, self._entry, {TTL: str(EXPIRES)}), within=RENEW)
            except Unavailable as away:
                log.warning("member.not_renewed", service=self._service, member=self._member, reason=str(away))
            else:
                self.ready.set()
            await asyncio.sleep(RENEW)

    async def _leave(self) -> None:
        try:
            await self._bus.publish(tombstone(self._subject, LEFT_FOR), within=RENEW)
        except Unavailable:
            log.info("member.left_silently", service=self._service, member=self._member)

    def _came(self, member: str) -> None:
        if timer := self._leaving.pop(member, None):
            timer.cancel()
        self._change(self._live | {member})

    def _went(self, member: str) -> None:
        if member != self._member and member not in self._leaving:
            self._leaving[member] = asyncio.get_running_loop().call_later(GRACE, self._expel, member)

    def _expel(self, member: str) -> None:
        del self._leaving[member]
        self._change(self._live - {member})

    def _change(self, live: frozenset[str]) -> None:
        if live == self._live:
            return
        change, self._live = ShareChange(self._member, self._live, live), live
        self._meters.gauge(LIVE, self._service, {(("service", self._service),): float(len(live))})
        log.info("members.changed", service=self._service, member=self._member, members=sorted(live))
        for changed in self._listeners:
            changed(change)
