"""Provisioning's calls on the world: the market, and the back ends."""

from collections.abc import Mapping

from events.faults import Denied, NoCapacity, NotFound, TryLater
from schemas.cluster import Gone, InfraSeen, Launch, LaunchFailed, Look, Rank, Ranked, Release
from schemas.inventory import ClusterSeen
from schemas.registry import declared
from schemas.wish import Wish
from services.clouds.port import Cloud
from services.machine import Event
from services.provisioning.placement import rank
from services.provisioning.stall import Stall
from services.runtime import Act, acts
from services.view import View

STILL_GOING = 5.0
"""Seconds until a release is looked at again, should the word that it is done get lost."""
BEST = 10
"""Placements that are looked at: the best is taken, the next tells what it saved."""


def act(
    clouds: Mapping[str, Cloud],
    stall: Stall,
    infra: View[str, InfraSeen],
    inventory: View[str, ClusterSeen],
) -> Act:
    """The one place where provisioning meets the world."""

    async def ask_market(command: Rank) -> tuple[Event, ...]:
        try:
            reach = await _cloud(clouds, command.wish).reach(command.wish)
        except Denied as denied:
            return (Ranked((), denied.reason, denied.message),)
        if not stall.open:
            raise TryLater("the inventory has not said what the market offers yet")
        return (rank(command.wish, stall.market, reach, command.tried, known=stall.known(command.wish), most=BEST),)

    async def launch(command: Launch) -> tuple[Event, ...]:
        number = command.attempt.number
        try:
            await stall.claim(command)
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
