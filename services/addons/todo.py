"""What each state of an add-on asks for."""

from schemas.addon import Applied, ApplyAddon, Applying, CheckAddon, Degraded, RetryAddon, WithdrawAddon, Withdrawing
from schemas.entity import Wake
from services.runtime.machine import asks


def apply(state: Applying) -> ApplyAddon:
    return ApplyAddon(
        state.tenant,
        state.colony,
        state.cluster,
        state.addon,
        state.digest,
        state.kubeconfig,
        state.message,
        state.overdue,
        state.after,
        state.uid,
        state.gated,
        state.sources,
    )


def check(state: Applied) -> CheckAddon:
    return CheckAddon(
        state.tenant,
        state.colony,
        state.cluster,
        state.addon,
        state.digest,
        state.kubeconfig,
        state.content,
        state.message,
        state.uid,
        state.sources,
    )


def withdraw(state: Withdrawing) -> WithdrawAddon:
    return WithdrawAddon(
        state.tenant,
        state.colony,
        state.cluster,
        state.addon,
        state.kubeconfig,
        state.dropped,
        state.stays,
        state.leave,
        state.message,
        state.uid,
        state.since,
        state.digest,
    )


todo = asks(
    {
        Applying: lambda s: (apply(s), Wake(s.until)),
        Applied: lambda s: (check(s),),
        Degraded: lambda s: (Wake(s.retry_at), RetryAddon(s.tenant, s.cluster, s.addon, s.digest)),
        Withdrawing: lambda s: (withdraw(s),),
    }
)
