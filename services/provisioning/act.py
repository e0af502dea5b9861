"""Provisioning's calls to the market and the back ends."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from events.backoff import Backoffs
from events.errors import Denied, NoCapacity, NotFound, TryLater
from events.kube.port import NotServed
from schemas.attempts import (
    AttemptBlocked,
    AttemptGone,
    AttemptRecovered,
    AttemptUnrecoverable,
    Launch,
    LaunchFailed,
    Observe,
    OrphanCreated,
    Rank,
    RecoverAttempt,
    Release,
)
from schemas.changes import (
    PoolPriced,
    PoolUnavailable,
    PricePool,
    Resize,
    Resized,
    ResizeRefused,
    Rolling,
    Upgrade,
    Upgraded,
    UpgradeRefused,
)
from schemas.cluster import NOT_INSTALLED
from schemas.infra import InfraSeen
from schemas.inventory import ClusterSeen
from schemas.placement import Ranked
from schemas.registry import declared
from schemas.wish import Adopt, Need
from services.clouds.cluster_object import not_installed
from services.clouds.port import Cloud, backend_for, reachable_elsewhere
from services.provisioning.market_view import MarketView
from services.provisioning.placement.adoption import nothing_to_adopt
from services.provisioning.placement.cooldowns import NOTHING_TO_ADOPT
from services.provisioning.placement.rank import NOTHING_FITS
from services.runtime.loop import Act, acts
from services.runtime.machine import Event
from services.runtime.read_model import ReadModel

RELEASE_RECHECK = 5.0
"""Seconds until a release is checked again, in case the message that it is done gets lost."""
ROLLOUT_RECHECK = 10.0
"""Seconds at most between two looks at how many machines run a new version; fewer while that number changes."""
NO_CATALOG = (
    "no price catalog is set, so nothing can be bought: name your clouds' prices in ALATE_CATALOG (folders, files or "
    "URLs), for the inventory and for provisioning"
)
INSTALL_RECHECK = 15.0
"""Seconds until it is checked again whether what was missing is installed."""


class ProvisioningCalls:
    """Executes each command; its ports are the back ends, the market, and what is observed of clusters."""

    def __init__(
        self,
        clouds: Mapping[str, Cloud],
        market_view: MarketView,
        infra: ReadModel[str, InfraSeen],
        inventory: ReadModel[str, ClusterSeen],
        *,
        priced: bool = True,
    ) -> None:
        self._clouds = clouds
        self._market = market_view
        self._infra = infra
        self._inventory = inventory
        self._priced = priced
        self._rolling: Backoffs[tuple[str, str]] = Backoffs(lambda: 1.0)  # who runs this spreads what comes again

    async def rank(self, command: Rank) -> tuple[Event, ...]:
        """The market's offers for the wish, best first."""
        wish = command.wish
        try:
            if wish.need.adopt is not None:
                return (await self._standing(command, wish.need.adopt),)
            if not self._priced:
                return (Ranked((), "NoCatalog", NO_CATALOG),)
            reach = await backend_for(wish, self._clouds).reach(wish)
        except Denied as denied:
            _wait_if_reported(denied, command.told)
            return (Ranked((), denied.reason, denied.message, wish.need.adopts),)
        self._wait_for_offers(wish.need)
        ranked = self._market.ranked(command, reach)
        if ranked.reason == NOTHING_FITS and (others := await reachable_elsewhere(wish, self._clouds)):
            ranked = self._market.ranked(command, reach, elsewhere=others)  # people are told what would reach more
        return (ranked,)

    def _wait_for_offers(self, need: Need) -> None:
        """Raises TryLater while a price is needed and the inventory has published no offers yet."""
        written = need.adopt is not None and need.adopt.node_price_per_hour is not None
        if self._priced and not written and not self._market.has_offers:
            raise TryLater("the inventory has not said what the market offers yet")

    async def _standing(self, command: Rank, adopt: Adopt) -> Ranked:
        """The cluster to adopt as the only placement: if it does not exist, none is ever created."""
        try:
            there = await backend_for(command.wish, self._clouds).read_existing(command.wish.tenant, adopt.name)
        except NotFound as missing:
            return nothing_to_adopt(adopt, missing.message)
        self._wait_for_offers(command.wish.need)
        return self._market.rank_existing(command, there).but(adopts=adopt.name)

    async def recall(self, command: RecoverAttempt) -> tuple[AttemptRecovered | AttemptUnrecoverable, ...]:
        """What an attempt's objects tell of it. Raises TryLater while they or the offers cannot be read."""
        wish, name = command.wish, command.attempt.object_name(command.wish.name)
        try:
            there = await backend_for(wish, self._clouds).read_existing(wish.tenant, name)
        except NotFound as missing:
            return (AttemptUnrecoverable(command.attempt.number, missing.message),)
        except Denied as denied:
            raise TryLater(denied.message, INSTALL_RECHECK) from denied
        self._wait_for_offers(wish.need)
        return (self._market.recall(command, there),)

    async def launch(self, command: Launch) -> tuple[Event, ...]:
        """Ensure that the cluster is being created; others observe when it is up."""
        number = command.attempt.number
        try:
            await self._make(command)
        except NotFound as missing:
            return (LaunchFailed(number, NOTHING_TO_ADOPT, missing.message),)
        except NoCapacity as none:
            return (LaunchFailed(number, "NoCapacity", none.message),)
        except Denied as denied:
            return (_launch_refused(command, denied),)
        if not await self._market.is_current(command):
            return (OrphanCreated(command.attempt.but(backend=command.wish.need.backend)),)
        return (AttemptBlocked(number),) if command.told else ()

    async def _make(self, command: Launch) -> None:
        """Adopt or create the cluster. An adopted one has its machines already, so nothing is claimed for it."""
        backend = backend_for(command.wish, self._clouds)
        if command.attempt.adopts:
            await backend.adopt(command.wish, command.attempt, command.uid)
        else:
            await self._market.claim(command)
            await backend.launch(command.wish, command.attempt, command.uid)

    async def resize(self, command: Resize) -> tuple[Event, ...]:
        """Tell the back end the number of nodes; others observe the nodes."""
        number, lots = command.attempt.number, command.attempt.placement.lots
        try:
            await self._market.check_room(command)
            with _retry_until_found():
                await backend_for(command.wish, self._clouds).resize(command.wish, command.attempt, command.uid)
        except Denied as denied:
            _wait_if_curable(denied)
            return (ResizeRefused(number, lots, denied.message, denied.reason),)
        return (Resized(number, lots),)

    async def upgrade(self, command: Upgrade) -> tuple[Event, ...]:
        """Tell the back end the version, and report progress. Raises TryLater until there is any."""
        number, version = command.attempt.number, command.wish.need.kubernetes_version
        key = (command.wish.tenant, command.wish.name)
        try:
            with _retry_until_found():
                backend = backend_for(command.wish, self._clouds)
                progress = await backend.upgrade(command.wish, command.attempt, command.uid)
        except Denied as denied:
            _wait_if_curable(denied)
            return (UpgradeRefused(number, version, denied.message),)
        if progress and progress == command.told:
            raise TryLater(progress, min(ROLLOUT_RECHECK, self._rolling.next_delay(key)))
        self._rolling.forget(key)
        return (Rolling(number, version, progress) if progress else Upgraded(number, version),)

    async def buy(self, command: PricePool) -> tuple[PoolPriced | PoolUnavailable, ...]:
        """The market's offers for new pools, if the back end can add pools."""
        if not self._priced:
            return (PoolUnavailable(command.attempt, command.wish.need, NO_CATALOG),)
        try:
            reach = await backend_for(command.wish, self._clouds).reach(command.wish)
        except Denied as denied:
            _wait_if_curable(denied)
            return (PoolUnavailable(command.attempt, command.wish.need, denied.message),)
        self._wait_for_offers(command.wish.need)
        return (self._market.price_pools(command, reach),)

    async def release(self, command: Release) -> tuple[Event, ...]:
        """Release the attempt. Raises TryLater as long as its objects exist."""
        number, where = command.attempt.number, command.attempt.backend
        self._rolling.forget((command.wish.tenant, command.wish.name))  # no upgrade of it is waited for any more
        backend = backend_for(command.wish, self._clouds, where)
        try:
            await backend.release(command.wish, command.attempt)
        except NotServed:  # that its objects are gone with the kind would be a guess, and may cost what still runs
            return _release_blocked(command, not_installed(backend.watched.api_version, backend.watched.kind))
        except NotFound:
            return (AttemptGone(number, where, command.attempt.adopts),)
        except Denied as denied:
            return _release_blocked(command, denied)
        if command.told:
            return (AttemptBlocked(number),)
        raise TryLater(f"{command.attempt.object_name(command.wish.name)} is still going", RELEASE_RECHECK)

    async def look(self, command: Observe) -> tuple[Event, ...]:
        """What was last observed of the attempt, by the back end and by the inventory.

        Leaves out an object of the same name at another back end, and an earlier attempt that had adopted the same
        object: each would be taken for an orphan at every look.
        """
        tenant, name = command.wish.tenant, command.wish.name
        seen = self._infra.get(
            declared(InfraSeen).at(tenant, command.wish.need.backend, command.attempt.object_name(name))
        )
        own = seen if seen is not None and seen.attempt == command.attempt.number else None
        held = self._inventory.get(declared(ClusterSeen).at(tenant, name))
        return tuple(event for event in (own, held) if event is not None)


def act(
    clouds: Mapping[str, Cloud],
    market_view: MarketView,
    infra: ReadModel[str, InfraSeen],
    inventory: ReadModel[str, ClusterSeen],
    *,
    priced: bool = True,
) -> Act:
    """Provisioning's side effects, by command."""
    calls = ProvisioningCalls(clouds, market_view, infra, inventory, priced=priced)
    return acts(
        {
            Rank: calls.rank,
            RecoverAttempt: calls.recall,
            Launch: calls.launch,
            Resize: calls.resize,
            Upgrade: calls.upgrade,
            PricePool: calls.buy,
            Release: calls.release,
            Observe: calls.look,
        }
    )


@contextmanager
def _retry_until_found() -> Iterator[None]:
    """Raises TryLater for what is not served or does not exist: others observe whether it was deleted."""
    try:
        yield
    except NotServed as unserved:
        raise TryLater(unserved.message, INSTALL_RECHECK) from unserved
    except NotFound as missing:
        raise TryLater(missing.message, RELEASE_RECHECK) from missing


def _launch_refused(command: Launch, denied: Denied) -> LaunchFailed | AttemptBlocked:
    """Fail the attempt, so that the next offer is taken, unless no offer would help."""
    if denied.reason != NOT_INSTALLED:
        return LaunchFailed(command.attempt.number, denied.reason, denied.message)
    _wait_if_reported(denied, command.told)
    return AttemptBlocked(command.attempt.number, denied.message)


def _release_blocked(command: Release, denied: Denied) -> tuple[Event, ...]:
    """Report what blocks the release. Raises TryLater if that was reported already, or there is nobody to report to."""
    if command.told in (None, denied.message):
        raise TryLater(denied.message, INSTALL_RECHECK) from denied
    return (AttemptBlocked(command.attempt.number, denied.message),)


def _wait_if_curable(denied: Denied) -> None:
    """Raises TryLater if something is not installed: no size is to blame for that."""
    if denied.reason == NOT_INSTALLED:
        raise TryLater(denied.message, INSTALL_RECHECK) from denied


def _wait_if_reported(denied: Denied, reported: str) -> None:
    """Raises TryLater if people know already what is not installed."""
    if denied.message == reported:
        raise TryLater(denied.message, INSTALL_RECHECK) from denied
