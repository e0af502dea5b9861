"""Pools that a running cluster has not are bought where its others are, before anything of it changes."""

from datetime import datetime
from typing import TypeVar

import msgspec

from schemas.cluster import Founded
from schemas.resize import Bought, Buy, NotBought
from schemas.wish import Wish
from services.provisioning.lifecycle.immutable import too_dear
from services.provisioning.lifecycle.lots import beside
from services.provisioning.lifecycle.resize import become
from services.provisioning.lifecycle.upgrade import shall_run, to
from services.runtime.machine import Command

F = TypeVar("F", bound=Founded)
ENOUGH = 3
"""Interruptions after which on-demand machines are looked for first."""


def asks_pools(state: Founded) -> tuple[Command, ...]:
    """That the market is asked for what it has not."""
    if state.wanted is None:
        return ()
    steady = state.interruptions >= ENOUGH
    return (Buy(wished(state), state.attempt.number, beside(state, state.wanted), steady),)


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


def wished(state: Founded) -> Wish:
    """All that is asked of it, whether it can become that or not yet."""
    return msgspec.structs.replace(state.wish, need=state.wanted or state.wish.need)


def asked_for(state: Founded) -> Wish:
    """The same, in the version that it gets: what it would be founded as anew."""
    return to(wished(state), shall_run(state))
