"""What each state of a cluster asks for."""

from schemas.attempts import Launch, Observe, Rank, RecoverAttempt, Release
from schemas.changes import PricePool, Resize, Upgrade
from schemas.cluster import (
    NOT_INSTALLED,
    ClusterState,
    Hibernated,
    Launching,
    Pending,
    Placed,
    Placing,
    Provisioned,
    Ready,
    Releasing,
    Stalled,
    Waiting,
)
from schemas.entity import State, Wake
from services.provisioning.lifecycle.autoscale import due_times, follows_pods
from services.provisioning.lifecycle.lots import kept_placement, needs_more_machines
from services.provisioning.lifecycle.update import full_wish, with_version
from services.runtime.machine import Command, asks

ENOUGH = 3
"""Interruptions after which on-demand machines are tried first."""


def rank_offers(state: Pending | Placing) -> tuple[Command, ...]:
    """Ask the market, unless the cluster is to hibernate: then it is launched when it wakes."""
    if state.wish.deleting or state.wish.need.hibernate:
        return ()
    return (Rank(state.wish, state.failed_attempts, steady=state.interruptions >= ENOUGH),)


def recall_or_rank(state: Pending) -> tuple[Command, ...]:
    """Recall the attempt that is left of an earlier life, or ask the market."""
    return rank_offers(state) if state.existing is None else (RecoverAttempt(state.wish, state.existing),)


def release_or_rank(state: Placing) -> tuple[Command, ...]:
    """Release the failed attempt, then ask the market."""
    return rank_offers(state) if state.attempt is None else (Release(state.wish, state.attempt, state.blocked),)


def rank_until_installed(state: Stalled) -> tuple[Command, ...]:
    """Ask again until everything is installed; any other reason lies in the wish, and waits for a newer one."""
    curable = state.reason == NOT_INSTALLED and not state.wish.deleting
    return (Rank(state.wish, (), state.message),) if curable else ()


def order_resize(state: Placed) -> tuple[Command, ...]:
    """Order the size until the back end has accepted it."""
    resizing = state.resizing
    if resizing is None or resizing.ordered:
        return ()
    return (
        Resize(
            state.wish, state.attempt, state.uid, needs_more_machines(resizing.before, state.attempt.placement.lots)
        ),
    )


def repeat_size(state: Provisioned) -> tuple[Command, ...]:
    """Order the current size of a cluster that was complete: somebody may have removed nodes by hand."""
    if not state.was_ready or state.resizing is not None:
        return ()
    return (Resize(state.wish, state.attempt, state.uid, grows=False),)


def observe_resize(state: Placed) -> tuple[Command, ...]:
    """Order the resize, observe it, and set a timer that reports a slow resize once."""
    resizing = state.resizing
    if resizing is None or resizing.late:
        return order_resize(state)
    return (*order_resize(state), Observe(state.wish, state.attempt), Wake(resizing.until))


def order_upgrade(state: Placed) -> tuple[Command, ...]:
    """Order the version until everything runs it, with a timer that reports a slow upgrade once."""
    upgrading = state.upgrading
    if upgrading is None or not isinstance(state, Provisioned | Ready | Hibernated):
        return ()
    command = Upgrade(with_version(state.wish, upgrading.version), state.attempt, state.uid, upgrading.progress)
    return (command,) if upgrading.late or isinstance(state, Provisioned) else (command, Wake(upgrading.until))


def buy_pools(state: Placed) -> tuple[Command, ...]:
    """Ask the market for the pools that have no lot."""
    if state.wanted is None:
        return ()
    steady = state.interruptions >= ENOUGH
    return (PricePool(full_wish(state), state.attempt.number, kept_placement(state, state.wanted), steady),)


def observe_ready(state: Ready) -> tuple[Command, ...]:
    """Observe what Pods ask for if they set the size, and set a timer for the next decision."""
    if not follows_pods(state):
        return observe_resize(state)
    return (*order_resize(state), Observe(state.wish, state.attempt), *(Wake(at) for at in due_times(state)[:1]))


_todo = asks(
    {
        Pending: recall_or_rank,
        Placing: release_or_rank,
        Waiting: lambda s: () if s.wish.deleting else (Wake(s.until),),
        Launching: lambda s: (
            Launch(s.wish, s.attempt, s.uid, s.blocked),
            *order_resize(s),
            Observe(s.wish, s.attempt),
            Wake(s.deadline),
        ),
        Provisioned: lambda s: (*order_resize(s), *repeat_size(s), Observe(s.wish, s.attempt), Wake(s.deadline)),
        Ready: observe_ready,
        Hibernated: observe_resize,
        Stalled: rank_until_installed,
        Releasing: lambda s: (Release(s.wish, s.attempt, s.blocked),),
    }
)


def todo(state: State) -> tuple[Command, ...]:
    """The commands of a state, with those for its new pools, its upgrade and its orphans, and one timer."""
    commands = _todo(state)
    if isinstance(state, Placed):
        commands += (*buy_pools(state), *order_upgrade(state))
    if isinstance(state, ClusterState) and state.orphans:
        commands += tuple(Release(state.wish, orphan, told=None) for orphan in state.orphans)
    return (*(each for each in commands if not isinstance(each, Wake)), *_earliest_wake(commands))


def _earliest_wake(commands: tuple[Command, ...]) -> tuple[Wake, ...]:
    """An entity has one timer: the earliest."""
    wakes = [each for each in commands if isinstance(each, Wake)]
    return (min(wakes, key=lambda each: each.at),) if wakes else ()
