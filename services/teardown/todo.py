"""What each state of a teardown asks for."""

from schemas.entity import Wake
from schemas.teardown import (
    Armed,
    AuditCluster,
    Cleaning,
    CleanUp,
    CountAddons,
    Drain,
    Draining,
    ListAddons,
    Stuck,
    TeardownReleasing,
    Verifying,
    Warned,
)
from services.runtime.machine import Command, asks
from services.teardown.lifetime import next_end, warn_at
from services.teardown.steps import cleanable_kubeconfig


def watch_limits(state: Armed) -> tuple[Command, ...]:
    nearest = next_end(state)
    return (Wake(warn_at(state, nearest[0])),) if nearest else ()


def drain_commands(state: Draining) -> tuple[Command | None, ...]:
    tenant = state.wish.tenant
    return (
        None if state.profile_addons else ListAddons(tenant, state.wish.name, state.uid),
        Drain(tenant, cleanable_kubeconfig(state)),
        Wake(state.ends_at),
    )


def clean_commands(state: Cleaning) -> tuple[Command | None, ...]:
    tenant = state.wish.tenant
    return (
        None if state.swept else CleanUp(tenant, cleanable_kubeconfig(state)),
        CountAddons(tenant, state.wish.name, state.uid, state.addons) if state.addons else None,
        Wake(state.ends_at),
    )


todo = asks(
    {
        Armed: watch_limits,
        Warned: lambda s: (Wake(s.until),),
        Draining: drain_commands,
        Cleaning: clean_commands,
        TeardownReleasing: lambda s: (Wake(s.deadline),),
        Verifying: lambda s: (AuditCluster(s.wish, s.uid), Wake(s.deadline)),
        Stuck: lambda s: (Wake(s.deadline),),
    }
)
