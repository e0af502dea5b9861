"""One row of the fleet table, computed from the newest states of a cluster, its teardown and its add-ons."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec

from schemas.addon import AddonState, Applied, Applying, Degraded, Withdrawn
from schemas.cluster import (
    ClusterState,
    Hibernated,
    Launching,
    Placed,
    Placing,
    Provisioned,
    Ready,
    Released,
    Releasing,
    Stalled,
    Waiting,
)
from schemas.inventory import ClusterSeen
from schemas.placement import Placement
from schemas.registry import declared
from schemas.teardown import Ending, Stuck, TeardownState, Warned
from services.colony.accounting import billed_attempt

UNREACHABLE, DEGRADED = "unreachable", "degraded"
"""What a row shows in place of ``ready`` where the cluster cannot be used as asked."""
REASONS = {
    "Deleted": "as requested",
    "TimeToLive": "its time to live is over",
    "Idle": "its accelerators were idle for too long",
}
"""Why a cluster ends."""


class FleetRow(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """One cluster, as the fleet table shows it."""

    tenant: str
    name: str
    """Of the cluster, unique within its tenant."""
    colony: str
    cluster: str
    """Its name within the Colony."""
    state: str
    """The one word for how it is: of its end once that has begun."""
    since: datetime
    created: datetime
    """When it was first requested, as far as that is known."""
    message: str = ""
    """What is wrong, or what it waits for; empty where all is well."""
    expires_at: datetime | None = None
    time_to_live: float | None = None
    """Seconds from when it is first ready; None: no limit."""
    idle_since: datetime | None = None
    price: float = 0.0
    """USD per hour, the whole cluster."""
    cost: float = 0.0
    """USD up to `billed_since`; from then on it costs what the price says."""
    billed_since: datetime | None = None
    region: str = ""
    """Cloud and region."""
    machines: str = ""
    """E.g. ``2 x 8 H100``."""
    accelerators: int = 0
    """Bought; before that, wanted."""
    accelerators_ready: int = 0
    accelerators_used: int = 0
    addons: int = 0
    addons_applied: int = 0


@dataclass(frozen=True)
class RowParts:
    """The newest states that a row is computed from, all of one incarnation of the cluster."""

    cluster: ClusterState
    created: datetime
    teardown: TeardownState | None = None
    addons: tuple[AddonState, ...] = ()
    seen: ClusterSeen | None = None


def row(parts: RowParts) -> FleetRow | None:
    """The row; None for a cluster that is released."""
    state = parts.cluster
    if isinstance(state, Released):
        return None
    attempt, billed_since = billed_attempt(state)
    placement = attempt.placement if attempt else None
    need, seen = state.wish.need, parts.seen
    addons = [each for each in parts.addons if not isinstance(each, Withdrawn)]
    return FleetRow(
        tenant=state.wish.tenant,
        name=state.wish.name,
        colony=state.wish.colony,
        cluster=state.wish.cluster,
        state=shown_state(parts),
        since=_since(parts),
        created=parts.created,
        message=message(parts),
        expires_at=expiry(parts),
        time_to_live=state.wish.limits.time_to_live_seconds,
        idle_since=seen.idle_since if seen else None,
        price=placement.price_per_hour if placement else 0.0,
        cost=state.cost_usd,
        billed_since=billed_since,
        region=f"{placement.cloud} {placement.region}" if placement else "",
        machines=machines(placement) if placement else "",
        accelerators=placement.accelerators if placement else need.accelerators,
        accelerators_ready=seen.accelerators if seen else 0,
        accelerators_used=seen.allocated if seen else 0,
        addons=len(addons),
        addons_applied=sum(isinstance(each, Applied) for each in addons),
    )


def shown_state(parts: RowParts) -> str:
    """The word for how a cluster is: ``ready`` only where it can be used as asked."""
    if isinstance(parts.teardown, Ending):
        return declared(type(parts.teardown)).event
    if isinstance(parts.cluster, Ready):
        silent = parts.seen is not None and not parts.seen.known
        return UNREACHABLE if silent else DEGRADED if _lacks_required(parts) else "ready"
    return declared(type(parts.cluster)).event


def _lacks_required(parts: RowParts) -> bool:
    return bool(addon_message(each for each in parts.addons if each.required))


def _since(parts: RowParts) -> datetime:
    return parts.teardown.since if isinstance(parts.teardown, Ending) else parts.cluster.since


def message(parts: RowParts) -> str:
    """What is wrong with a cluster, or what it waits for, in one sentence."""
    teardown, seen = parts.teardown, parts.seen
    if isinstance(teardown, Ending):
        blocked = teardown.message if isinstance(teardown, Stuck) else teardown.blocked
        return blocked or f"is being deleted: {REASONS.get(teardown.reason, teardown.reason)}"
    if isinstance(teardown, Warned):
        return f"ends at {teardown.until:%H:%M} UTC: {REASONS.get(teardown.reason, teardown.reason)}"
    if seen is not None and not seen.known and isinstance(parts.cluster, Placed):
        why = seen.refusal or seen.unreadable
        return f"its API server cannot be reached{f': {why}' if why else ''}"
    return _progress(parts) or addon_message(parts.addons)


def _progress(parts: RowParts) -> str:
    state = parts.cluster
    if isinstance(state, Placed) and state.refused:
        return state.refused
    if isinstance(state, Placed) and state.upgrading:
        return f"upgrading to {state.upgrading.version}: {state.upgrading.progress or 'waiting for the machines'}"
    if isinstance(state, Placed) and state.resizing:
        return f"resizing to {state.attempt.placement.nodes} nodes"
    tell = MESSAGES.get(type(state))
    return tell(state, parts.seen) if tell else ""


def _counted(state: Provisioned, seen: ClusterSeen | None) -> str:
    ready = seen.accelerators if seen else 0
    return f"{ready} of {state.attempt.placement.accelerators} accelerators are ready"


MESSAGES: dict[type, Callable[[Any, ClusterSeen | None], str]] = {
    Waiting: lambda state, _: state.message,
    Stalled: lambda state, _: state.message,
    Launching: lambda state, _: state.blocked,
    Placing: lambda state, _: state.blocked or (state.attempt.message if state.attempt else ""),
    Provisioned: _counted,
    Ready: lambda state, _: state.unmet_demand.message if state.unmet_demand else "",
    Hibernated: lambda _, __: "hibernates: no machines are billed, only its control plane",
    Releasing: lambda state, _: state.blocked or f"its machines are being deleted: {state.reason}",
}
"""What a state alone tells."""


def addon_message(addons: Iterable[AddonState]) -> str:
    """What is wrong with the add-ons; empty where nothing is."""
    wrong = (each for each in addons if isinstance(each, Applying | Degraded) and each.message)
    return "; ".join(f"add-on {each.addon}: {each.message}" for each in wrong)


def expiry(parts: RowParts) -> datetime | None:
    """When the cluster ends unless something changes."""
    if isinstance(parts.teardown, Warned):
        return parts.teardown.until
    first_ready = parts.teardown.ready_since if parts.teardown else None
    life = parts.cluster.wish.limits.time_to_live_seconds
    return first_ready + timedelta(seconds=life) if first_ready and life is not None else None


def machines(placement: Placement) -> str:
    """The nodes of a placement, lot by lot."""
    return " + ".join(
        f"{lot.nodes + lot.extra} x {lot.accelerators_per_node} {lot.accelerator}" for lot in placement.lots
    )
