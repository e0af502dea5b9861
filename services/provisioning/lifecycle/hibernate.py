"""A cluster that hibernates gives its machines back and keeps its API; awake it has to become ready anew."""

from datetime import datetime

import msgspec

from schemas.cluster import Founded, Hibernated, Provisioned, Ready
from schemas.growth import Ungrown
from schemas.inventory import ClusterSeen
from schemas.resize import Bought, ResizeRefused
from schemas.wish import Wish
from services.provisioning.lifecycle.autoscale import PAUSE
from services.provisioning.lifecycle.launch import JOIN_LIMIT, is_of
from services.provisioning.lifecycle.lots import grows
from services.provisioning.lifecycle.pools import add
from services.provisioning.lifecycle.resize import amend, settle, take_back


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
