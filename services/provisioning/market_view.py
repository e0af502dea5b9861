"""Provisioning's view of the market: what is offered, what is reserved, and whether a choice may be bought."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from events.errors import Denied, TryLater
from schemas import cluster
from schemas.attempts import AttemptRecovered, AttemptUnrecoverable, Launch, Rank, RecoverAttempt
from schemas.changes import PoolPriced, PoolUnavailable, PricePool, Resize
from schemas.cluster import Launching
from schemas.entity import State
from schemas.inventory import Offers
from schemas.market import CapacitySeen
from schemas.placement import Attempt, Ranked
from schemas.registry import Stream, WireStruct, declared
from schemas.subjects import Key
from schemas.wish import Wish
from services.clouds.existing_cluster import ExistingCluster
from services.provisioning.placement.adoption import rank_existing, recall
from services.provisioning.placement.predicates import CloudReach, MarketKnowledge
from services.provisioning.placement.rank import MOST_RANKED, on_demand_first, rank
from services.provisioning.placement.supply import (
    MachineKey,
    OfferIndex,
    Reservation,
    Reservations,
    TenantSignals,
    exceeded,
    held_attempt,
    total_machines,
)
from services.runtime.context import Context
from services.runtime.read_model import ReadModel, entities, levels

ALTERNATIVE = "ask for another one, or add another cluster to the Colony"
"""What to do instead."""

SOON = 0.1
"""Seconds until it is checked again whether our own state has come back on the bus."""


class _ClusterHead(WireStruct, frozen=True):
    """The part of any cluster state that identifies its attempt."""

    uid: str
    attempt: Attempt | None = None


class MarketView:
    """Read models of the market and of reservations."""

    def __init__(self, context: Context) -> None:
        bus, meters = context.bus, context.meters
        self.market = OfferIndex()
        self.tenant_signals = TenantSignals()
        self._reservations = Reservations()
        self._bus = bus
        self._clock = context.clock
        self._offers: ReadModel[str, Offers] = levels(bus, Offers, meters)
        self._signals: ReadModel[str, CapacitySeen] = levels(bus, CapacitySeen, meters)
        self._clusters: ReadModel[Key, State] = entities(bus, cluster.LIFECYCLE, meters)
        self._offers.listen(lambda _, offers: self.market.update(offers))
        self._clusters.listen(self.tenant_signals.note, self.tenant_signals.drop)
        self._clusters.listen(self._reservations.note, self._reservations.drop)
        self.views: tuple[ReadModel[Any, Any], ...] = (self._offers, self._signals, self._clusters)
        """The read models that have to run beside it."""

    @property
    def has_offers(self) -> bool:
        """Whether any offers have been published."""
        return any(True for _ in self._offers)

    def ranked(
        self, command: Rank, reach: CloudReach, *, keeps: bool = False, elsewhere: Mapping[str, str] | None = None
    ) -> Ranked:
        """The market's offers for a wish now; for a command with `steady`, on-demand machines first."""
        wish, known = command.wish, replace(self.knowledge(command.wish, keeps=keeps), elsewhere=elsewhere or {})
        asks = (on_demand_first(wish), wish) if command.steady else (wish,)
        answers = [
            rank(each, self.market, reach, command.failed_attempts, known=known, most=MOST_RANKED) for each in asks
        ]
        return next((answer for answer in answers if answer.placements), answers[-1])

    def price_pools(self, command: PricePool, reach: CloudReach) -> PoolPriced | PoolUnavailable:
        """The market's offers for new pools in the cluster's region."""
        query = Rank(wish_for_new_pools(command), (), steady=command.steady)
        found = self.ranked(query, reach, keeps=True)
        if found.placements:
            return PoolPriced(command.attempt, command.wish.need, found.placements[0].lots)
        return PoolUnavailable(command.attempt, command.wish.need, pools_unavailable_message(query.wish, found.message))

    def rank_existing(self, command: Rank, there: ExistingCluster) -> Ranked:
        """The existing cluster as a placement, if it is what the wish asks for."""
        return rank_existing(command.wish, there, self.market, command.failed_attempts, self._clock())

    def recall(self, command: RecoverAttempt, there: ExistingCluster) -> AttemptRecovered | AttemptUnrecoverable:
        """What an attempt is whose history was lost."""
        return recall(command.wish, command.attempt.number, there, self.market)

    def knowledge(self, asking: Wish, *, keeps: bool = False) -> MarketKnowledge:
        """What else counts beside prices now.

        The asking cluster's own reservation does not count unless it keeps it: the release of its last attempt may not
        have come back yet.
        """
        own = Key("cluster", asking.tenant, asking.name)
        taken = self._reservations.taken_by_others(None if keeps else own) if self.market.limited_regions else {}
        signals = {(seen.cloud, seen.region): seen for _, seen in self._signals if seen.refusals}
        now = self._clock()
        return MarketKnowledge(taken, signals, now, self.tenant_signals.denied(own, now))

    async def claim(self, command: Launch) -> None:
        """Ensure that nobody else chose the attempt's limited machines first. Raises Denied("Taken") if so.

        Raises TryLater until the attempt's own state has come back, and with it every choice made before it.
        """
        limits = self._limits(command.attempt)
        if not limits:
            return
        key = Key("cluster", command.wish.tenant, command.wish.name)
        mine = self._clusters.get(key)
        chosen = None if mine is None or mine.uid != command.uid else held_attempt(mine)
        if mine is None or chosen is None or chosen.number != command.attempt.number:
            raise TryLater("it is not known yet who else has chosen these machines", SOON)
        if exceeded(limits, self._reservations.taken) is None:
            return
        rivals = self._reservations.holding(limits)
        began = {k: await self._sequence_of(k, rival) for k, rival in rivals.items()}
        stock = exceeded(limits, total_machines(rival.attempt for k, rival in rivals.items() if began[k] <= began[key]))
        if stock is not None:
            raise Denied(f"of {stock[3]} in {stock[1]} there are {limits[stock]}, and others chose them first", "Taken")

    async def check_room(self, command: Resize) -> None:
        """Ensure that enough limited machines are left for a cluster that grows. Raises Denied("Taken") if not.

        Raises TryLater until its own new size has come back, and with it every choice made before it.
        """
        limits = self._limits(command.attempt) if command.grows else {}
        key = Key("cluster", command.wish.tenant, command.wish.name)
        mine = self._clusters.get(key)
        if limits and (mine is None or held_attempt(mine) != command.attempt):
            raise TryLater("it is not known yet who else has chosen these machines", SOON)
        stock = exceeded(limits, self._reservations.taken)
        if stock is not None:
            others = self._reservations.taken_by_others(key)[stock]
            message = f"of {stock[3]} in {stock[1]} there are {limits[stock]}, of which others hold {others}"
            raise Denied(message, "Taken")

    async def is_current(self, command: Launch) -> bool:
        """Whether the attempt is still the cluster's own, according to the newest state on the stream."""
        last = await self._bus.last(Stream.EVENTS, Key("cluster", command.wish.tenant, command.wish.name).history)
        mine = msgspec.json.decode(last.data, type=_ClusterHead) if last else None
        held = mine.attempt if mine is not None and mine.uid == command.uid else None
        return held is not None and held.number == command.attempt.number

    def _limits(self, attempt: Attempt) -> dict[MachineKey, int]:
        place = (attempt.placement.cloud, attempt.placement.region)
        found = {
            (*place, lot.zone, lot.instance): self.market.offer(
                place, lot.accelerator, lot.accelerators_per_node, lot.zone, lot.instance
            )
            for lot in attempt.placement.lots
            if place in self.market.limited_regions
        }
        return {stock: offer.limit for stock, offer in found.items() if offer is not None and offer.limit is not None}

    async def _sequence_of(self, key: Key, holder: Reservation) -> int:
        """The position in the stream at which an attempt began: later wishes publish the same state again.

        It is 0, before all others, once that message is no longer retained.
        """
        for stored in await self._bus.read(Stream.EVENTS, declared(Launching).at(key.tenant, key.name)):
            state = msgspec.json.decode(stored.data, type=Launching)
            if (state.uid, state.attempt.number) == (holder.uid, holder.attempt.number):
                return stored.sequence
        return 0


def wish_for_new_pools(command: PricePool) -> Wish:
    """A wish for the new pools alone: in the cluster's region, at what its price cap leaves beside the other pools."""
    need, beside = command.wish.need, command.beside
    there, most = {lot.pool for lot in beside.lots}, need.max_price_per_hour
    alone = need.but(
        pools=tuple(pool for pool in need.pools if pool.name not in there),
        clouds=(beside.cloud,),
        regions=(beside.region,),
        # The control plane is counted once more where these are looked for.
        max_price_per_hour=None
        if most is None
        else max(round(most - beside.most_per_hour + beside.control_plane_per_hour, 6), 0.0),
    )
    return command.wish.but(need=alone)


def pools_unavailable_message(wish: Wish, why: str) -> str:
    """What people read if the market has nothing for the new pools."""
    need = wish.need
    named, place = ", ".join(pool.name for pool in need.pools), " ".join((*need.clouds, *need.regions))
    return f"pool {named} cannot be added in {place} beside what is there ({why}): {ALTERNATIVE}"
