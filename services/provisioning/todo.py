"""What each state of a cluster asks for."""

from schemas.cluster import (
    Launch,
    Launching,
    Look,
    Placing,
    Provisioned,
    Rank,
    Release,
    Releasing,
    Requested,
)
from schemas.entity import Wake
from services.machine import Command, asks


def ask_market(state: Requested | Placing) -> tuple[Command, ...]:
    return () if state.wish.deleting else (Rank(state.wish, state.tried),)


def let_go_or_ask(state: Placing) -> tuple[Command, ...]:
    return ask_market(state) if state.attempt is None else (Release(state.wish, state.attempt),)


todo = asks(
    {
        Requested: ask_market,
        Placing: let_go_or_ask,
        Launching: lambda s: (
            Launch(s.wish, s.attempt, s.uid),
            Look(s.wish, s.attempt),
            Wake(s.deadline),
        ),
        Provisioned: lambda s: (Look(s.wish, s.attempt), Wake(s.deadline)),
        Releasing: lambda s: (Release(s.wish, s.attempt),),
    }
)
