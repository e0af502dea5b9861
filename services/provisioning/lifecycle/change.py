"""A cluster that hibernates gives its machines back and keeps its API; awake it has to become ready anew."""

from datetime import datetime
from typing import TypeVar

import msgspec

from schemas.cluster import Founded, Hibernated, Provisioned, Ready
from schemas.growth import Ungrown
from schemas.inventory import ClusterSeen
from schemas.resize import Bought, NotBought, ResizeRefused
from schemas.wish import Wish
from services.provisioning.lifecycle.autoscale import PAUSE
from services.provisioning.lifecycle.immutable import too_dear
from services.provisioning.lifecycle.launch import JOIN_LIMIT, is_of
from services.provisioning.lifecycle.lots import beside, grows
from services.provisioning.lifecycle.resize import amend, become, settle, take_back
from services.provisioning.lifecycle.upgrade import wished

F = TypeVar("F", bound=Founded)


def follow(state: Provisioned | Ready, wish: Wish, now: datetime) -> Founded | Hibernated:
    return _asleep(amend(state, wish, now))


def give_in(state: Provisioned | Ready, told: ResizeRefused, now: datetime) -> Founded | Hibernated:
    """It goes on as it was; what could not wake sleeps on, what pods ask for is asked for again after a while."""
    back, asked = take_back(state, told, now), state.resizing
    if back is not state and isinstance(back, Ready) and asked is not None and asked.demanded:
        ungrown = Ungrown(reason=told.reason, message=told.message) if grows(asked.before, told.lots) else None
        return msgspec.structs.replace(back, grows_from=now + PAUSE, ungrown=ungrown)
    return _asleep(back)


def wake(state: Hibernated, wish: Wish, now: datetime) -> Hibernated | Provisioned:
    return _awake(amend(state, wish, now), now)


def extend(state: Provisioned | Ready, bought: Bought, now: datetime) -> Founded | Hibernated:
    """It gets the pools that were bought."""
    return _asleep(add(state, bought, now))


def wake_larger(state: Hibernated, bought: Bought, now: datetime) -> Hibernated | Provisioned:
    """The same, for when it wakes."""
    return _awake(add(state, bought, now), now)


def stay_awake(state: Hibernated, told: ResizeRefused, now: datetime) -> Hibernated | Provisioned:
    """Its machines cannot be given back."""
    return _awake(take_back(state, told, now), now)


def rest(state: Hibernated, seen: ClusterSeen) -> Hibernated:
    return settle(state, seen) if is_of(state, seen) and seen.known else state


def _asleep(state: Provisioned | Ready) -> Founded | Hibernated:
    return state.to(Hibernated) if state.wish.need.hibernate else state


def _awake(state: Hibernated, now: datetime) -> Hibernated | Provisioned:
    return state if state.wish.need.hibernate else state.to(Provisioned, deadline=now + JOIN_LIMIT)


def add(state: F, bought: Bought, now: datetime) -> F:
    """It gets what was bought, and is what it was asked to be."""
    if state.wanted is None or (bought.attempt, bought.need) != (state.attempt.number, state.wanted):
        return state
    kept = beside(state, state.wanted)
    found = {lot.pool: lot for lot in (*kept.lots, *bought.lots)}
    lots = tuple(found[pool.name] for pool in state.wanted.pools)
    if state.wanted.hibernate:
        lots = tuple(msgspec.structs.replace(lot, nodes=0) for lot in lots)
    placement = msgspec.structs.replace(kept, lots=lots)
    if refused := too_dear(state.wanted, placement):
        return msgspec.structs.replace(state, wanted=None, refused=refused)
    return become(state, wished(state), lots, now, refused=state.refused)


def do_without(state: F, told: NotBought) -> F:
    """It stays what it was."""
    if state.wanted is None or (told.attempt, told.need) != (state.attempt.number, state.wanted):
        return state
    return msgspec.structs.replace(state, wanted=None, refused=told.message)
