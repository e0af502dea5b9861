"""What each state of a cluster asks for."""

from schemas.cluster import (
    NOT_INSTALLED,
    ClusterState,
    Founded,
    Hibernated,
    Launching,
    Placing,
    Provisioned,
    Ready,
    Releasing,
    Requested,
    Stalled,
    Waiting,
)
from schemas.entity import State, Wake
from schemas.founding import Launch, Look, Rank, Recall, Release
from services.provisioning.lifecycle.autoscale import follows, times
from services.provisioning.lifecycle.pools import ENOUGH, asks_pools
from services.provisioning.lifecycle.resize import asks_again, asks_resize, asks_settling
from services.provisioning.lifecycle.upgrade import asks_upgrade
from services.runtime.machine import Command, asks


def ask_market(state: Requested | Placing) -> tuple[Command, ...]:
    """What shall hibernate is not founded before it is asked to wake."""
    if state.wish.deleting or state.wish.need.hibernate:
        return ()
    return (Rank(state.wish, state.tried, steady=state.interruptions >= ENOUGH),)


def take_in_or_ask(state: Requested) -> tuple[Command, ...]:
    return ask_market(state) if state.standing is None else (Recall(state.wish, state.standing),)


def let_go_or_ask(state: Placing) -> tuple[Command, ...]:
    return ask_market(state) if state.attempt is None else (Release(state.wish, state.attempt, state.held),)


def ask_until_installed(state: Stalled) -> tuple[Command, ...]:
    """What people install meanwhile is noticed; every other reason lies in the wish, and waits for another one."""
    curable = state.reason == NOT_INSTALLED and not state.wish.deleting
    return (Rank(state.wish, (), state.message),) if curable else ()


def asks_settling_or_use(state: Ready) -> tuple[Command, ...]:
    """Where its pods are listened to, also what they ask for now, and when that is looked at again."""
    if not follows(state):
        return asks_settling(state)
    return (*asks_resize(state), Look(state.wish, state.attempt), *(Wake(at) for at in times(state)[:1]))


_todo = asks(
    {
        Requested: take_in_or_ask,
        Placing: let_go_or_ask,
        Waiting: lambda s: () if s.wish.deleting else (Wake(s.until),),
        Launching: lambda s: (
            Launch(s.wish, s.attempt, s.uid, s.held),
            *asks_resize(s),
            Look(s.wish, s.attempt),
            Wake(s.deadline),
        ),
        Provisioned: lambda s: (*asks_resize(s), *asks_again(s), Look(s.wish, s.attempt), Wake(s.deadline)),
        Ready: asks_settling_or_use,
        Hibernated: asks_settling,
        Stalled: ask_until_installed,
        Releasing: lambda s: (Release(s.wish, s.attempt, s.held),),
    }
)


def todo(state: State) -> tuple[Command, ...]:
    """Beside what each state asks for: pools that are to be added, and, of which nobody is told, an end of strays."""
    asked = _todo(state)
    if isinstance(state, Founded):
        asked += (*asks_pools(state), *asks_upgrade(state))
    if isinstance(state, ClusterState) and state.strays:
        asked += tuple(Release(state.wish, stray, told=None) for stray in state.strays)
    return (*(each for each in asked if not isinstance(each, Wake)), *_first(asked))


def _first(asked: tuple[Command, ...]) -> tuple[Wake, ...]:
    """An entity has one timer: it stands at the next time that anything of it is due."""
    wakes = [each for each in asked if isinstance(each, Wake)]
    return (min(wakes, key=lambda each: each.at),) if wakes else ()
