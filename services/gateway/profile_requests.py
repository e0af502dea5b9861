"""Creates, changes and deletes AddonProfiles that are requested on the bus."""

from datetime import datetime

import msgspec
import structlog

from events.bus import Bus, Stored
from events.cloudevents import CloudEvent, Malformed
from events.errors import NotFound, TryLater
from events.kube.client import Kube, Object
from events.kube.resources import ADDONPROFILES, TRIGGERS
from events.telemetry import extract
from schemas import durations
from schemas.crds import read_profile
from schemas.registry import Stream, declared
from schemas.requests import ProfileRequest, RequestingTrigger, WithdrawRequest
from services.gateway.wishes import event_annotations
from services.kubernetes.labels import EXPIRES, ORIGIN

MANAGER = "alate-intake"
TERMINATING = 10.0
"""Seconds, at least, until an AddonProfile is sought again that is still being deleted."""

log = structlog.get_logger()


class ProfileRequests:
    """Fulfils requests for AddonProfiles; one of another origin is never touched."""

    def __init__(self, bus: Bus, kube: Kube) -> None:
        self._bus = bus
        self._kube = kube

    async def create(self, event: CloudEvent, asked: ProfileRequest, stored: Stored) -> None:
        """Create or change the AddonProfile, unless it was withdrawn since: a late request creates nothing.

        Raises Malformed, InvalidResource, Unavailable, Fault; TryLater while one of its name is being deleted.
        """
        profile = profile_of(event, asked, stored)
        withdrawn = await self._bus.last(Stream.INTAKE, declared(WithdrawRequest).at(asked.tenant, asked.name))
        if withdrawn is not None and withdrawn.sequence > stored.sequence:
            log.info("intake.late", tenant=asked.tenant, name=asked.name)
            return
        if (meta := await self._owned(asked)) is not None and meta.get("deletionTimestamp"):
            raise TryLater(f"AddonProfile {asked.name} is still being deleted", TERMINATING)
        await self._kube.apply(ADDONPROFILES, profile, manager=MANAGER)

    async def withdraw(self, asked: WithdrawRequest) -> None:
        """Delete the AddonProfile; one that is gone already counts as deleted. Raises Malformed, Fault."""
        try:
            if meta := await self._owned(asked):
                await self._kube.delete(ADDONPROFILES, asked.name, asked.tenant, uid=meta["uid"])
                return
        except NotFound:  # somebody else deleted it meanwhile
            pass
        log.info("intake.withdrawn_already", tenant=asked.tenant, name=asked.name)

    async def _owned(self, asked: ProfileRequest | WithdrawRequest) -> Object | None:
        """The metadata of the AddonProfile; None: there is none. Raises Malformed if it is of another origin."""
        try:
            meta: Object = (await self._kube.get(ADDONPROFILES, asked.name, asked.tenant))["metadata"]
        except NotFound:
            return None
        if (origin := meta.get("labels", {}).get(ORIGIN, "")) != asked.origin:
            raise Malformed(f"AddonProfile {asked.name} is of origin {origin or '(none)'}, not of {asked.origin}")
        return meta


def profile_of(event: CloudEvent, asked: ProfileRequest, stored: Stored) -> Object:
    """The AddonProfile that is requested. Raises InvalidResource, Malformed."""
    annotations = dict(event_annotations(event.id, extract(stored.headers)))
    if asked.expires_after:
        annotations[EXPIRES] = msgspec.to_builtins(_expiry(asked.expires_after, event, stored))
    profile: Object = {
        "apiVersion": ADDONPROFILES.api_version,
        "kind": ADDONPROFILES.kind,
        "metadata": {
            "name": asked.name,
            "namespace": asked.tenant,
            "labels": {ORIGIN: asked.origin},
            "annotations": annotations,
            **_owned_by(asked.trigger),
        },
        "spec": asked.spec,
    }
    read_profile(profile)
    return profile


def _owned_by(trigger: RequestingTrigger | msgspec.UnsetType) -> Object:
    """Kubernetes deletes the AddonProfile with its Trigger."""
    if isinstance(trigger, msgspec.UnsetType):
        return {}
    owner = {"apiVersion": TRIGGERS.api_version, "kind": TRIGGERS.kind, "name": trigger.name, "uid": trigger.uid}
    return {"ownerReferences": [owner]}


def _expiry(after: str, event: CloudEvent, stored: Stored) -> datetime:
    """Counted from the request, however late it is fulfilled. Raises Malformed."""
    try:
        return min(event.time or stored.time, stored.time) + durations.parse(after)
    except (ValueError, OverflowError) as wrong:
        raise Malformed(f"expiresAfter is {after!r}: {wrong}") from wrong
