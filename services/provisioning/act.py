"""Provisioning's calls on the world: the market, and the back ends."""

from collections.abc import Iterable, Mapping

from events.faults import Denied, NoCapacity, NotFound, TryLater
from schemas.cluster import Gone, InfraSeen, Launch, LaunchFailed, Look, Rank, Ranked, Release
from schemas.inventory import ClusterSeen, Offer, Offers
from schemas.registry import declared
from schemas.wish import Wish
from services.clouds.port import Cloud
from services.machine import Event
from services.provisioning.placement import rank
from services.runtime import Act, acts
from services.view import View

STILL_GOING = 5.0
"""Seconds until a release is looked at again, should the word that it is done get lost."""


def market(offers: View[str, Offers]) -> Iterable[Offer]:
    """Every offer there is now."""
    return (offer for _, region in offers for offer in region.offers)


def act(
    clouds: Mapping[str, Cloud],
    offers: View[str, Offers],
    infra: View[str, InfraSeen],
    inventory: View[str, ClusterSeen],
) -> Act:
    """The one place where provisioning meets the world."""

    async def ask_market(command: Rank) -> tuple[Event, ...]:
        try:
            reach = await _cloud(clouds, command.wish).reach(command.wish)
        except Denied as denied:
            return (Ranked((), denied.reason, denied.message),)
        if not any(True for _ in offers):
            raise TryLater("the inventory has not said what the market offers yet")
        return (rank(command.wish, market(offers), reach, command.tried),)

    async def launch(command: Launch) -> tuple[Event, ...]:
        number = command.attempt.number
        try:
            await _cloud(clouds, command.wish).launch(command.wish, command.attempt, command.uid)
        except NoCapacity as none:
            return (LaunchFailed(number, "NoCapacity", none.message),)
        except Denied as denied:
            return (LaunchFailed(number, denied.reason, denied.message),)
        return ()

    async def release(command: Release) -> tuple[Event, ...]:
        try:
            await _cloud(clouds, command.wish).release(command.wish, command.attempt)
        except NotFound:
            return (Gone(command.attempt.number),)
        raise TryLater(f"{command.attempt.object_name(command.wish.name)} is still going", STILL_GOING)

    async def look(command: Look) -> tuple[Event, ...]:
        tenant, name = command.wish.tenant, command.wish.name
        seen = infra.get(declared(InfraSeen).at(tenant, command.attempt.object_name(name)))
        held = inventory.get(declared(ClusterSeen).at(tenant, name))
        return tuple(event for event in (seen, held) if event is not None)

    return acts({Rank: ask_market, Launch: launch, Release: release, Look: look})


def _cloud(clouds: Mapping[str, Cloud], wish: Wish) -> Cloud:
    cloud = clouds.get(wish.need.backend)
    if cloud is None:
        known = ", ".join(sorted(clouds))
        raise Denied(f"there is no back end {wish.need.backend!r}: use one of {known}", "UnknownBackend")
    return cloud
