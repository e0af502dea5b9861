"""What each state of an add-on asks for."""

from schemas.addon import Applied, ApplyAddon, Applying, CheckAddon, Degraded, WithdrawAddon, Withdrawing
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
    )


todo = asks(
    {
        Applying: lambda s: (apply(s), Wake(s.until)),
        Applied: lambda s: (CheckAddon(s.tenant, s.colony, s.cluster, s.addon, s.digest, s.kubeconfig),),
        Degraded: lambda s: (Wake(s.retry_at),),
        Withdrawing: lambda s: (
            WithdrawAddon(s.tenant, s.colony, s.cluster, s.addon, s.kubeconfig, s.dropped, s.stays),
        ),
    }
)
